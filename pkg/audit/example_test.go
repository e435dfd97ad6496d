package audit_test

import (
	"context"
	"fmt"
	"time"

	"agentgateway-lock/pkg/audit"
	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
)

// Verify the history of the repository in a folder from a pinned trust root, and
// print the head to record, or the commit that breaks a rule.
func ExampleVerify() {
	verify := func(ctx context.Context, dir string, root canonical.Digest) error {
		repo, err := gitrepo.Open(ctx, dir, gitrepo.Options{})
		if err != nil {
			return err
		}
		defer func() { _ = repo.Close() }()
		report, err := audit.Verify(ctx, repo, audit.Options{Root: &root, Now: time.Now()})
		if err != nil {
			return err // nothing is known: never a pass
		}
		if report.Violation != nil {
			return report.Violation
		}
		fmt.Println(report.Commits, "commits hold; record", report.Head)
		return nil
	}
	_ = verify

	// Output:
}
