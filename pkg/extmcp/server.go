package extmcp

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/tap"
)

// The bounds of a server made by [NewServer]. What is in flight at once is at most
// MessagesInFlight messages of ReceiveLimit bytes for each method, each of which is in
// memory a few times while it is decoded and answered.
const (
	// ReceiveLimit is the largest message, in bytes, that is accepted. The gateway
	// itself sets no limit on what it sends, and grpc-go's own of 4 MiB would turn a
	// long merged list into an outage.
	ReceiveLimit = 17 << 20
	// MessagesInFlight is how many messages of one method are read and answered at
	// once. Others wait, in the order they came, in the buffers of who sends them.
	// Requests, which clients make and the gateway keeps small, do not wait for
	// results, which may be a server's at any length.
	MessagesInFlight = 2

	// maxStreams is how many calls one connection may have open, and streamWindow how
	// much of a call's body is taken before it is its turn.
	maxStreams   = 64
	streamWindow = 64 << 10
	maxHeader    = 64 << 10
)

// NewServer returns a gRPC server that serves impl under the ExtMcp service, with
// the standard health service and reflection beside it. admit is asked about every
// call of any service when its headers have come and before anything of its body is
// read: an error refuses it. Where admit is nil everyone may ask.
//
// The health server reports SERVING for the empty service name and for ExtMcp; the
// caller changes that through the returned value.
func NewServer(impl ExtMcpServer, admit func(header metadata.MD) error, opts ...grpc.ServerOption) (*grpc.Server, *health.Server) {
	all := append([]grpc.ServerOption{
		grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
			if admit == nil {
				return ctx, nil
			}
			return ctx, admit(info.Header)
		}),
		grpc.MaxRecvMsgSize(ReceiveLimit), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeader),
		// A window that grew with the speed of the line would let bodies that wait
		// grow, too.
		grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(1 << 20),
		grpc.ConnectionTimeout(10 * time.Second),
		// A peer that is gone must not keep what it has begun.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	}, opts...)
	server := grpc.NewServer(all...)
	server.RegisterService(inTurn(ExtMcp_ServiceDesc, MessagesInFlight), impl)
	state := health.NewServer()
	state.SetServingStatus(ExtMcp_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, state)
	reflection.Register(server)
	return server, state
}

// inTurn is a service of which at most n calls of a method are read and answered at
// once. grpc-go reads the body of a unary call before its interceptors run, so the
// calls are served as streams of one message, which are the same on the wire: their
// body is read when the handler asks for it.
func inTurn(service grpc.ServiceDesc, n int) *grpc.ServiceDesc {
	for _, m := range service.Methods {
		turns := make(chan struct{}, n)
		service.Streams = append(service.Streams, grpc.StreamDesc{
			StreamName: m.MethodName,
			Handler: func(impl any, stream grpc.ServerStream) error {
				select {
				case turns <- struct{}{}:
				case <-stream.Context().Done():
					return stream.Context().Err()
				}
				defer func() { <-turns }()
				out, err := m.Handler(impl, stream.Context(), stream.RecvMsg, nil)
				if err != nil {
					return err
				}
				return stream.SendMsg(out)
			},
		})
	}
	service.Methods = nil
	return &service
}
