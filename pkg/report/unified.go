package report

import "strings"

// diffLines puts a mark before every line of a text.
func diffLines(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+mark) + "\n"
}

// unified lays out a word diff as a diff of lines.
func unified(pieces []piece) string {
	var out strings.Builder
	var h hunk
	for _, p := range pieces {
		if p.op != equal {
			h.change(p)
			continue
		}
		if h.atLineStart() {
			h.flush(&out)
		}
		for line := range strings.SplitAfterSeq(p.text, "\n") {
			h.keep(line)
			if strings.HasSuffix(line, "\n") {
				h.flush(&out)
			}
		}
	}
	h.flush(&out)
	return out.String()
}

// hunk is the lines since the last end of a line that stands in both texts.
type hunk struct {
	old, fresh strings.Builder
	changed    bool
}

// atLineStart reports whether both texts stand at the start of a line.
func (h *hunk) atLineStart() bool {
	return (h.old.Len() == 0 || strings.HasSuffix(h.old.String(), "\n")) && (h.fresh.Len() == 0 || strings.HasSuffix(h.fresh.String(), "\n"))
}

func (h *hunk) keep(text string) {
	h.old.WriteString(text)
	h.fresh.WriteString(text)
}

func (h *hunk) change(p piece) {
	h.changed = true
	if p.op == deleted {
		h.old.WriteString(p.text)
	} else {
		h.fresh.WriteString(p.text)
	}
}

func (h *hunk) flush(out *strings.Builder) {
	if h.changed {
		out.WriteString(diffLines("-", h.old.String()) + diffLines("+", h.fresh.String()))
	} else {
		out.WriteString(diffLines(" ", h.old.String()))
	}
	*h = hunk{}
}
