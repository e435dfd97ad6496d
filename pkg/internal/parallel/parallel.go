// Package parallel does many things on all cores.
package parallel

import (
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls do for 0 to n-1 on all cores, and returns the error of the lowest that
// fails: all before it were called, so that the same input gives the same error;
// further ones may not be.
func Each(n int, do func(i int) error) error {
	return EachWith(n, func() func(int) error { return do })
}

// EachWith is [Each] for what needs memory of its own: worker is called once for
// each core that takes part.
func EachWith(n int, worker func() func(i int) error) error {
	var next, failed atomic.Int64
	failed.Store(int64(n))
	errs := make([]error, n)
	var group errgroup.Group
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func() error {
			do := worker()
			for i := next.Add(1) - 1; i < failed.Load(); i = next.Add(1) - 1 {
				if errs[i] = do(int(i)); errs[i] == nil {
					continue
				}
				for at := failed.Load(); i < at && !failed.CompareAndSwap(at, i); at = failed.Load() {
				}
			}
			return nil // the group's would be the first in time
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if at := failed.Load(); at < int64(n) {
		return errs[at]
	}
	return nil
}
