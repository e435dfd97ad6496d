package extmcp_test

import (
	"context"
	"net"
	"path/filepath"
	sync "sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"agentgateway-lock/pkg/extmcp"
)

// echo answers a response with its own bytes.
type echo struct {
	extmcp.UnimplementedExtMcpServer
}

func (echo) CheckResponse(_ context.Context, in *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
	return &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Mutated{Mutated: in.GetMcpResponse()}}, nil
}

func dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server, _ := extmcp.NewServer(echo{}, nil)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return conn
}

func TestServerReceivesMoreThanTheLibraryDefault(t *testing.T) {
	client := extmcp.NewExtMcpClient(dial(t))
	large := make([]byte, 8<<20)
	answer, err := client.CheckResponse(context.Background(), &extmcp.McpResponse{McpResponse: large}, grpc.MaxCallRecvMsgSize(16<<20))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(answer.GetMutated()); got != len(large) {
		t.Errorf("got %d bytes back, want %d", got, len(large))
	}
}

func TestServerRefusesMoreThanItsLimit(t *testing.T) {
	client := extmcp.NewExtMcpClient(dial(t))
	_, err := client.CheckResponse(context.Background(), &extmcp.McpResponse{McpResponse: make([]byte, extmcp.ReceiveLimit)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Fatalf("got %v, want ResourceExhausted", err)
	}
}

func TestServerTellsHealthAndServices(t *testing.T) {
	conn := dial(t)
	for _, service := range []string{"", "agentgateway.dev.ext_mcp.ExtMcp"} {
		health, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		if health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q is %v, want SERVING", service, health.GetStatus())
		}
	}

	ctx := t.Context()
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, service := range answer.GetListServicesResponse().GetService() {
		found = found || service.GetName() == "agentgateway.dev.ext_mcp.ExtMcp"
	}
	if !found {
		t.Errorf("reflection does not list the service: %v", answer)
	}
}

// waiting answers when it is let.
type waiting struct {
	extmcp.UnimplementedExtMcpServer

	begun, let chan struct{}
}

func (w waiting) CheckResponse(context.Context, *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
	w.begun <- struct{}{}
	<-w.let
	return &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Pass{Pass: &extmcp.Pass{}}}, nil
}

// counted counts what is written to a connection.
type counted struct {
	net.Conn
	written *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// The body of a call is not read before it is its turn, and then the call is
// answered.
func TestCallsWaitForTheirTurn(t *testing.T) {
	w := waiting{begun: make(chan struct{}), let: make(chan struct{})}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server, _ := extmcp.NewServer(w, nil)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	var written atomic.Int64
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			return counted{c, &written}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	client := extmcp.NewExtMcpClient(conn)
	var all sync.WaitGroup
	ask := func(size int) {
		all.Go(func() {
			if answer, err := client.CheckResponse(t.Context(), &extmcp.McpResponse{McpResponse: make([]byte, size)}); err != nil || answer.GetPass() == nil {
				t.Errorf("%v %v", answer, err)
			}
		})
	}
	for range extmcp.MessagesInFlight {
		ask(1)
		<-w.begun
	}
	const late, size = 6, 8 << 20
	for range late {
		ask(size)
	}
	select {
	case <-w.begun:
		t.Error("more calls than have a turn are answered")
	case <-time.After(100 * time.Millisecond): // no event tells that nothing happens
	}
	if n := written.Load(); n > late*256<<10 {
		t.Errorf("%d bytes of calls that wait were taken", n)
	}
	go func() {
		for range w.begun { // each is let go
		}
	}()
	close(w.let)
	all.Wait()
	close(w.begun)
	_ = conn.Close()
	server.Stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
