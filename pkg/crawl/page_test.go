package crawl

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

func TestReadPage(t *testing.T) {
	text := ` { "tools" : [ {"a":[1,"]"]} , null,"x\\\"," , 1.0,[ ] ] ,"nextCursor":"c\u0031","_meta":{"x":"}"}} `
	p, err := readPage([]byte(text), "tools")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"a":[1,"]"]}`, `null`, `"x\\\","`, `1.0`, `[ ]`}
	if !slices.EqualFunc(p.definitions, want, func(b []byte, s string) bool { return string(b) == s }) {
		t.Errorf("%q", p.definitions)
	}
	if *p.next != "c1" {
		t.Errorf("cursor %q", *p.next)
	}
	for _, bad := range []string{
		``, `[]`, `{`, `{"tools":[}`, `{"tools":[1,]}`, `{"tools":[,1]}`, `{"tools":[1 2]}`, `{"tools":[]} x`, `{"tools":["]}`,
		`{"tools":[]]`, `{"tools" []}`, `{tools:[]}`, `{"tools":[],}`, `{"tools":[{]}`, `{"tools":[:]}`,
	} {
		if p, err := readPage([]byte(bad), "tools"); err == nil {
			t.Errorf("%s: read as %q", bad, p.definitions)
		}
	}
}

// Where encoding/json can read a list, readPage cuts out the same elements.
func FuzzListPage(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a"},null,"x"],"nextCursor":"2"}`))
	f.Add([]byte(`{"tools":[{"name":"\ud800"},[[[]]],1e999],"tools":[]}`))
	f.Add([]byte("{\"tools\":[\"\xff\"],\"resultType\":\"complete\"}"))
	f.Add([]byte(`{"tools":[{"a":"\\"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := readPage(text, "tools")
		if err != nil {
			return
		}
		total := 0
		for _, d := range p.definitions {
			total += len(d)
			if len(d) == 0 || !bytes.Contains(text, d) {
				t.Fatalf("%q is no part of %q", d, text)
			}
		}
		if total > len(text) {
			t.Fatalf("%d bytes out of %d", total, len(text))
		}
		var oracle map[string]json.RawMessage
		var list []json.RawMessage
		if json.Unmarshal(text, &oracle) != nil || json.Unmarshal(oracle["tools"], &list) != nil {
			return
		}
		if !slices.EqualFunc(p.definitions, list, func(a []byte, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%q, encoding/json reads %q", p.definitions, list)
		}
	})
}
