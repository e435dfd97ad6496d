package lockfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

// tenThousand is a lockfile of ten servers with a thousand tools each.
func tenThousand(t testing.TB) ([]byte, map[string][]byte) {
	t.Helper()
	f := &lockfile.File{GeneratedBy: "bench@1", GeneratedAt: "2026-11-30T12:00:00.000Z"}
	copies := map[string][]byte{}
	for server := range 10 {
		raws := make([][]byte, 1000)
		for i := range raws {
			raws[i] = fmt.Appendf(nil, `{"name":"tool_%04d","description":"Reads the file %d of the folder and returns what it holds.","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"The path of the file."},"limit":{"type":"integer","minimum":0}},"required":["path"]}}`, i, i)
		}
		list, _ := surface.NewList(surface.KindTool, raws)
		s := surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}}
		f.Put(lockfile.FromSurface(fmt.Sprintf("server%d", server), &source.Source{Transport: stdio, Command: "npx"}, surface.DefaultCovers(), s))
		for _, d := range list.Definitions {
			copies[fmt.Sprintf("server%d/%s", server, d.Name)] = lockfile.FormatCopy(d.Canonical)
		}
	}
	byPath := map[string][]byte{}
	for _, c := range lockfile.NewLayout(f).Copies {
		byPath[c.Path] = copies[c.Server+"/"+c.Name]
	}
	return lockfile.Format(f), byPath
}

func BenchmarkParse10k(b *testing.B) {
	src, _ := tenThousand(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := lockfile.Parse(src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseAndCheck10k(b *testing.B) {
	src, _ := tenThousand(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := lockfile.Parse(src)
		if err != nil || len(lockfile.Check(f)) > 0 {
			b.Fatal(err)
		}
	}
}

// BenchmarkAny10k is what BenchmarkParse10k is measured against.
func BenchmarkAny10k(b *testing.B) {
	src, _ := tenThousand(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		var value any
		if err := json.Unmarshal(src, &value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFormat10k(b *testing.B) {
	src, _ := tenThousand(b)
	f := mustParse(b, src)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		lockfile.Format(f)
	}
}

func BenchmarkCheckCopies10k(b *testing.B) {
	src, copies := tenThousand(b)
	f := mustParse(b, src)
	read := func(path string) ([]byte, error) { return copies[path], nil }
	b.ReportAllocs()
	for b.Loop() {
		if findings := lockfile.CheckCopies(f, read); len(findings) > 0 {
			b.Fatal(findings[0])
		}
	}
}

// BenchmarkStoreCheckCopies10k reads the copies from a folder, and
// BenchmarkReadCopies10k is the least that reading them takes.
func BenchmarkStoreCheckCopies10k(b *testing.B) {
	_, store, f := storedTenThousand(b)
	for b.Loop() {
		if findings := lockfile.CheckCopies(f, store.ReadCopy); len(findings) > 0 {
			b.Fatal(findings[0])
		}
	}
}

func BenchmarkReadCopies10k(b *testing.B) {
	folder, _, f := storedTenThousand(b)
	copies := lockfile.NewLayout(f).Copies
	for b.Loop() {
		for _, c := range copies {
			text, err := os.ReadFile(filepath.Join(folder, c.Path))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := lockfile.ParseCopy(text); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func storedTenThousand(b *testing.B) (string, *lockfile.Store, *lockfile.File) {
	b.Helper()
	folder, dir := openDir(b)
	src, copies := tenThousand(b)
	for path, text := range copies {
		path = filepath.Join(folder, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, text, 0o666)); err != nil {
			b.Fatal(err)
		}
	}
	return folder, lockfile.NewStore(dir, ""), mustParse(b, src)
}
