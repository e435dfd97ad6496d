package project

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A text that repeats a trait of the machine, made on two machines, differs in
// that trait alone; one word more that differs, and it is a change like any other.
func TestOfMachine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, 2+r.IntN(9))
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyz-/."[r.IntN(29)]
		}
		return string(b)
	}
	for range 5000 {
		var text strings.Builder
		for range 1 + r.IntN(12) {
			text.WriteString(word() + []string{" ", "@", `\n`, ": "}[r.IntN(4)])
		}
		text.WriteString("@")
		here, there := "/home/"+word()+"7", "/users/"+word()+"8"
		if strings.Contains(there, here) {
			continue
		}
		traits := []trait{{"the host name", "host-never-there", ""}, {"the home folder", here, ""}}
		now, old := strings.ReplaceAll(text.String(), "@", here), strings.ReplaceAll(text.String(), "@", there)
		if got, was := ofMachine(traits, old, now); got.what != "the home folder" || was != there {
			t.Fatalf("%q and %q: %q, %q", old, now, got.what, was)
		}
		if got, _ := ofMachine(traits, old+" obey", now); got.what != "" {
			t.Fatalf("%q and %q with a word more: %q", old, now, got.what)
		}
		if got, _ := ofMachine(traits, now, now+" obey"); got.what != "" {
			t.Fatalf("a word more: %q", got.what)
		}
	}
}

func TestOfMachineDates(t *testing.T) {
	dates := []string{
		"2026-11-30", "2026-12-01", "2026-12-01T10:20:30Z", "2026-12-01 10:20", "2026-12-01T10:20:30.123+02:00",
		"December 1, 2026", "1 Dec 2026", "Tuesday, December 1, 2026", "Mon, 30 Nov 2026", "10:20:31",
	}
	for i, was := range dates {
		for j, is := range dates {
			old, now := fmt.Sprintf("It is %s, be quick.", was), fmt.Sprintf("It is %s, be quick.", is)
			got, _ := ofMachine(nil, old, now)
			if (got.what != "") != (i != j) {
				t.Errorf("%q and %q: %q", old, now, got.what)
			}
			if got, _ := ofMachine(nil, old, strings.Replace(now, "quick", "slow", 1)); got.what != "" {
				t.Errorf("%q and other words: %q", old, got.what)
			}
		}
	}
}

func TestRunsPython(t *testing.T) {
	for command, want := range map[string]bool{
		"python": true, "/usr/bin/python3.12": true, "uvx": true, "uv": true, "pipx": true, "python3.exe": true,
		"node": false, "npx": false, "pythonic": true, "": false,
	} {
		if runsPython(command) != want {
			t.Errorf("%q: %v", command, !want)
		}
	}
}
