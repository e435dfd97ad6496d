package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommittedFilesAreCurrent(t *testing.T) {
	if err := run(context.Background(), filepath.Join("..", ".."), true); err != nil {
		t.Fatal(err)
	}
}

func TestAStaleFileIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.pb.go"), []byte("package a // edited\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := compare(dir, map[string][]byte{"a.pb.go": []byte("package a\n")})
	if err == nil || !strings.Contains(err.Error(), "a.pb.go is not current") {
		t.Fatalf("got %v, want the edited file named as not current", err)
	}
	if err := compare(dir, map[string][]byte{"b.pb.go": nil}); err == nil {
		t.Fatal("a missing file passed")
	}
}
