package extmcp

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// ReceiveLimit is the largest message, in bytes, that a server made by
// [NewServer] accepts. The gateway itself sets no limit on what it sends, and
// grpc-go's own of 4 MiB would turn a long merged list into an outage.
const ReceiveLimit = 64 << 20

// NewServer returns a gRPC server that serves impl under the ExtMcp service,
// with the standard health service and reflection beside it. The options are
// applied after the receive limit and can therefore change it.
//
// The health server reports SERVING for the empty service name and for ExtMcp;
// the caller changes that through the returned value.
func NewServer(impl ExtMcpServer, opts ...grpc.ServerOption) (*grpc.Server, *health.Server) {
	all := append([]grpc.ServerOption{grpc.MaxRecvMsgSize(ReceiveLimit)}, opts...)
	server := grpc.NewServer(all...)
	RegisterExtMcpServer(server, impl)
	state := health.NewServer()
	state.SetServingStatus(ExtMcp_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, state)
	reflection.Register(server)
	return server, state
}
