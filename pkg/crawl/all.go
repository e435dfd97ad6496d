package crawl

import (
	"context"

	"agentgateway-lock/pkg/surface"
)

// A Job is one server to list.
type Job struct {
	Endpoint Endpoint
	Covers   []string
	// Differs holds the surface against what is known of the server, and decides
	// whether it is listed once more (see [Lister.Confirm]); nil means never. It is
	// called from another goroutine than ListAll's.
	Differs func(surface.Surface) Difference
}

// A Result is what became of one job: a listing or an error.
type Result struct {
	Job      Job
	Listing  *Listing
	Unstable []Unstable
	Err      error
}

// ListAll lists servers, at most parallel of them at a time (0 means
// [DefaultJobs]), and calls each once for every job, in the order of jobs, from
// the calling goroutine. What happens to one server does not touch the others.
// It returns when every process it started has ended.
func (l *Lister) ListAll(ctx context.Context, jobs []Job, parallel int, each func(Result)) {
	if parallel <= 0 {
		parallel = DefaultJobs
	}
	slots := make(chan struct{}, parallel)
	results := make([]chan Result, len(jobs))
	for i := range jobs {
		results[i] = make(chan Result, 1)
	}
	go func() {
		for i, job := range jobs {
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				result := l.list(ctx, job)
				if result.Err != nil {
					l.tell(job.Endpoint, EventFail, result.Err.Error())
				} else {
					l.tell(job.Endpoint, EventDone, "")
				}
				results[i] <- result
			}()
		}
	}()
	for _, result := range results {
		each(<-result)
	}
}

// list does one job.
func (l *Lister) list(ctx context.Context, job Job) Result {
	r := Result{Job: job}
	if r.Err = ctx.Err(); r.Err != nil {
		return r
	}
	s, err := l.Open(ctx, job.Endpoint)
	if err != nil {
		r.Err = err
		return r
	}
	defer s.Close()
	l.tell(job.Endpoint, EventList, "")
	if r.Listing, r.Err = s.List(ctx, job.Covers); r.Err != nil || job.Differs == nil {
		return r
	}
	r.Listing, r.Unstable, r.Err = l.Confirm(ctx, s, job.Covers, r.Listing, job.Differs(r.Listing.Surface))
	return r
}
