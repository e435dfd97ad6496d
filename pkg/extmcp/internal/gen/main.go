// Command gen makes the Go code of package extmcp from ext_mcp.proto.
//
//	go run ./internal/gen          writes the files
//	go run ./internal/gen -check   fails if a committed file is not current
//
// It runs in the package's directory. The proto file is compiled in this process
// and handed to protoc-gen-go and protoc-gen-go-grpc at the versions that go.mod
// names, so that the same tree gives the same bytes everywhere and no protoc
// needs to be installed.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const source = "ext_mcp.proto"

// plugins are the generators, as packages for go run.
var plugins = []string{
	"google.golang.org/protobuf/cmd/protoc-gen-go",
	"google.golang.org/grpc/cmd/protoc-gen-go-grpc",
}

func main() {
	check := flag.Bool("check", false, "compare the committed files instead of writing them")
	flag.Parse()
	if err := run(context.Background(), ".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run generates the code of the package in dir and writes it there or, with
// check, compares it with what stands there.
func run(ctx context.Context, dir string, check bool) error {
	files, err := generate(ctx, dir)
	if err != nil {
		return err
	}
	if check {
		return compare(dir, files)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compare fails for the first file in dir that is not as generated.
func compare(dir string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		got, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, files[name]) {
			return fmt.Errorf("%s is not current: run go generate ./pkg/extmcp", path)
		}
	}
	return nil
}

// generate returns the generated files by name.
func generate(ctx context.Context, dir string) (map[string][]byte, error) {
	request, err := compile(ctx, dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, plugin := range plugins {
		response, err := runPlugin(ctx, dir, plugin, request)
		if err != nil {
			return nil, err
		}
		for _, file := range response.GetFile() {
			files[file.GetName()] = []byte(file.GetContent())
		}
	}
	return files, nil
}

// compile reads the proto file and returns what a generator is asked, encoded.
func compile(ctx context.Context, dir string) ([]byte, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	linked, err := compiler.Compile(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", source, err)
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{source},
		Parameter:      new("paths=source_relative"),
		ProtoFile:      withImports(nil, linked[0]),
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(request)
}

// withImports appends file to list behind everything it imports, which is the
// order that generators require.
func withImports(list []*descriptorpb.FileDescriptorProto, file protoreflect.FileDescriptor) []*descriptorpb.FileDescriptorProto {
	imports := file.Imports()
	for i := range imports.Len() {
		list = withImports(list, imports.Get(i).FileDescriptor)
	}
	return append(list, protodesc.ToFileDescriptorProto(file))
}

// runPlugin runs one generator over an encoded request.
func runPlugin(ctx context.Context, dir, plugin string, request []byte) (*pluginpb.CodeGeneratorResponse, error) {
	cmd := exec.CommandContext(ctx, "go", "run", plugin)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(request)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w: %s", plugin, err, stderr.Bytes())
	}
	response := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(out, response); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", plugin, err)
	}
	if response.Error != nil {
		return nil, fmt.Errorf("%s: %w", plugin, errors.New(response.GetError()))
	}
	return response, nil
}
