package parallel_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"agentgateway-lock/pkg/internal/parallel"
)

// Everything is done once; where something fails, the error is the same in every
// run: that of the lowest.
func TestEach(t *testing.T) {
	for range 200 {
		var calls [100]atomic.Int32
		if err := parallel.Each(len(calls), func(i int) error { calls[i].Add(1); return nil }); err != nil {
			t.Fatal(err)
		}
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Fatalf("%d was done %d times", i, n)
			}
		}
		want := errors.New("17")
		var before atomic.Int32
		err := parallel.Each(100, func(i int) error {
			switch {
			case i < 17:
				before.Add(1)
				return nil
			case i == 17:
				return want
			}
			return fmt.Errorf("%d", i)
		})
		if !errors.Is(err, want) || before.Load() != 17 {
			t.Fatalf("error %v after %d of 17", err, before.Load())
		}
	}
	if err := parallel.Each(0, func(int) error { return errors.New("called") }); err != nil {
		t.Error(err)
	}
}
