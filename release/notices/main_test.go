package main

import (
	"strings"
	"testing"
)

// A licence that nobody has looked at stops the generator.
func TestKindOf(t *testing.T) {
	for _, tc := range []struct {
		text text
		want string
	}{
		{text{"Apache License\n Version 2.0, January 2004", true}, "Apache-2.0"},
		{text{"Permission is hereby granted, free of charge, to any person obtaining a\ncopy of this software", true}, "MIT"},
		{text{"Redistributions in binary form must reproduce … endorse or promote products derived\nfrom", true}, "BSD-3-Clause"},
		{text{"Redistributions in binary form must reproduce", true}, "BSD-2-Clause"},
		{text{"This product includes software", false}, "Notice"},
		{text{"GNU GENERAL PUBLIC LICENSE Version 3", true}, ""},
	} {
		got, err := kindOf(tc.text)
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%.40s: %q, %v; want %q", tc.text.words, got, err, tc.want)
		}
	}
}

// Equal texts stand once, with all that are under them.
func TestFormat(t *testing.T) {
	n := notices{}
	n.put("MIT: Permission is hereby granted, free of charge, to any person obtaining a copy of this software\r\n", true, "b v1")
	n.put("MIT: Permission is hereby granted, free of charge, to any person obtaining a copy of this software", true, "a v1")
	n.put("GPL", true, "c v1")
	if _, err := n.format(); err == nil || !strings.Contains(err.Error(), "c v1") {
		t.Errorf("an unknown licence: %v", err)
	}
	delete(n, text{"GPL", true})
	page, err := n.format()
	if err != nil || strings.Count(string(page), "## MIT\n\n- a v1\n- b v1\n") != 1 || strings.Count(string(page), "free of charge") != 1 {
		t.Errorf("%v\n%s", err, page)
	}
}
