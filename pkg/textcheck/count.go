package textcheck

import "strconv"

// Count says how many there are of what a noun names, as in "1 item" and "2 items".
// The plural of the noun is made with an s.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
