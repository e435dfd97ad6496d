package crawl_test

import (
	"context"
	"fmt"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

func ExampleLister_ListAll() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server := upstream.New(upstream.Options{})
	url, err := server.Start(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()

	jobs := []crawl.Job{
		{Endpoint: crawl.Endpoint{Name: "mock", Transport: source.HTTP, URL: url, AllowPrivate: true}, Covers: []string{"tools"}},
		{Endpoint: crawl.Endpoint{Name: "guarded", Transport: source.HTTP, URL: url}, Covers: []string{"tools"}},
	}
	crawl.New(crawl.Options{}).ListAll(ctx, jobs, crawl.DefaultJobs, func(r crawl.Result) {
		if r.Err != nil {
			fmt.Println(r.Job.Endpoint.Name, crawl.FindingOf(r.Job.Endpoint.Name, r.Err).Code)
			return
		}
		for _, d := range r.Listing.Surface.Lists[surface.KindTool].Definitions {
			fmt.Println(r.Job.Endpoint.Name, d.Name)
		}
	})
	// Output:
	// mock add
	// mock echo
	// mock wipe_database
	// guarded egress-denied
}
