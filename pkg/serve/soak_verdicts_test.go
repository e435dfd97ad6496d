//go:build soak

package serve_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
)

var soakTime = flag.Duration("soak.time", 3*time.Minute, "how long the soak test runs")

// heap returns the bytes in use after a collection.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Lists, calls and probes from many clients, hostile ones among them, with a
// reload every second: what was approved goes on, and memory stays flat.
func TestSoakVerdicts(t *testing.T) {
	definitions := manyTools(100)
	p, hooks, page := busy(t, definitions)
	client := dial(t, "unix", hooks)
	ctx, cancel := context.WithTimeout(context.Background(), *soakTime)
	defer cancel()
	var all sync.WaitGroup
	run := func(f func(random *rand.Rand) error) {
		random := rand.New(rand.NewPCG(rand.Uint64(), 0))
		all.Go(func() {
			for ctx.Err() == nil {
				if err := f(random); err != nil {
					t.Error(err)
					cancel()
				}
			}
		})
	}
	for range 16 {
		run(func(random *rand.Rand) error {
			out, err := client.CheckRequest(context.Background(), callOf(fmt.Sprintf("read_record_%04d", random.IntN(100))))
			if err != nil || out.GetPass() == nil {
				return fmt.Errorf("a call did not pass: %v %w", out, err)
			}
			return nil
		})
	}
	for range 4 {
		run(func(*rand.Rand) error {
			out, err := client.CheckResponse(context.Background(), page)
			if err != nil || out.GetPass() == nil {
				return fmt.Errorf("the list did not pass: %v %w", out, err)
			}
			return nil
		})
		run(func(random *rand.Rand) error { // another page, names and scope each time
			n := random.Uint64()
			body := tools(definitions[0], fmt.Sprintf(`{"name":"%d%s"}`, n, strings.Repeat("x", random.IntN(600))), definitions[1])
			scope, err := structpb.NewStruct(map[string]any{"scope": fmt.Sprint("s", n)})
			if err != nil {
				return err
			}
			out, err := client.CheckResponse(context.Background(), &extmcp.McpResponse{
				ServiceNames: []string{"files"}, Method: "tools/list", MetadataContext: scope, McpResponse: []byte(body),
			})
			if want := tools(definitions[:2]...); err != nil || string(out.GetMutated()) != want {
				return fmt.Errorf("a new tool passed: %v %w", out, err)
			}
			return nil
		})
	}
	all.Go(func() {
		tick := time.NewTicker(time.Second)
		for n := 0; ctx.Err() == nil; n++ {
			<-tick.C
			in := p.Policy().Input()
			in.ID = fmt.Sprint(n)
			policy, err := processor.NewPolicy(in)
			if err != nil {
				t.Error(err)
				return
			}
			p.SetPolicy(policy)
			p.RecordProbe("files", surface.Surface{}, time.Now())
		}
	})
	var sizes []int
	for tick := time.NewTicker(*soakTime / 12); ctx.Err() == nil; {
		select {
		case <-tick.C:
			sizes = append(sizes, heap()>>20)
		case <-ctx.Done():
		}
	}
	all.Wait()
	t.Logf("heap in MiB over time: %v", sizes)
	// Of what is bounded, verdicts and evidence may take 64 MiB each.
	if last := heap(); last > 192<<20 {
		t.Errorf("%d MiB in use at the end", last>>20)
	}
}
