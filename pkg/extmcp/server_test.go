package extmcp_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

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
	server, _ := extmcp.NewServer(echo{})
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
