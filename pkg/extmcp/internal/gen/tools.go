//go:build tools

// The imports below keep the generators' modules in go.mod; nothing builds this
// file.
package main

import (
	_ "google.golang.org/grpc/cmd/protoc-gen-go-grpc"
	_ "google.golang.org/protobuf/cmd/protoc-gen-go"
)
