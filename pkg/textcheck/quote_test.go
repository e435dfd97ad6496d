package textcheck

import "testing"

// What is cut is cut between characters, and says so.
func TestQuote(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, `""`},
		{"abc", 3, `"abc"`},
		{"abcd", 3, `"abc"…`},
		{"aé", 3, `"aé"`},
		{"aéb", 2, `"a"…`},
		{"\"\x1b\n\u202e\xff", 60, `"\"\x1b\n\u202e\xff"`},
		{"\x80\x80\x80", 2, `""…`},
	} {
		if got := Quote(tt.text, tt.most); got != tt.want {
			t.Errorf("Quote(%q, %d) = %s, want %s", tt.text, tt.most, got, tt.want)
		}
	}
}
