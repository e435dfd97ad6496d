package trust

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/textcheck"
)

// A writer builds compact JSON text in the order of the documentation.
type writer struct{ dst []byte }

// name starts a member or, with an empty name, an element.
func (w *writer) name(name string) {
	if n := len(w.dst); n > 0 && w.dst[n-1] != '{' && w.dst[n-1] != '[' {
		w.dst = append(w.dst, ',')
	}
	if name != "" {
		w.dst = canonical.AppendString(w.dst, name)
		w.dst = append(w.dst, ':')
	}
}

func (w *writer) open(name string, bracket byte) {
	w.name(name)
	w.dst = append(w.dst, bracket)
}

func (w *writer) close(bracket byte) { w.dst = append(w.dst, bracket) }

func (w *writer) text(name, value string) {
	w.name(name)
	w.dst = canonical.AppendString(w.dst, value)
}

func (w *writer) integer(name string, value int64) {
	w.name(name)
	w.dst = strconv.AppendInt(w.dst, value, 10)
}

func (w *writer) flag(name string, value bool) {
	w.name(name)
	w.dst = strconv.AppendBool(w.dst, value)
}

// digest writes a digest; none is the empty string.
func (w *writer) digest(name string, d canonical.Digest) {
	w.name(name)
	w.dst = append(w.dst, '"')
	if !d.IsZero() {
		w.dst, _ = d.AppendText(w.dst) // appending hexadecimal digits does not fail
	}
	w.dst = append(w.dst, '"')
}

func (w *writer) digests(name string, list []canonical.Digest) {
	w.open(name, '[')
	for _, d := range list {
		w.digest("", d)
	}
	w.close(']')
}

func (w *writer) texts(name string, list []string) {
	w.open(name, '[')
	for _, s := range list {
		w.text("", s)
	}
	w.close(']')
}

// canonical returns the canonical form of what was written. It is nil for what
// no reader accepts, such as text beyond the limits.
func (w *writer) canonical() []byte {
	enc := canonical.Encoder{MaxSize: maxBody}
	text, err := enc.Append(make([]byte, 0, len(w.dst)), w.dst)
	if err != nil {
		return nil
	}
	return text
}

// file returns the form of a file: body and signatures, indented.
func (w *writer) file(body string, signatures [][]byte) []byte {
	whole := writer{dst: make([]byte, 0, len(w.dst)+1024)}
	whole.open("", '{')
	whole.name(body)
	whole.dst = append(whole.dst, w.dst...)
	whole.open("signatures", '[')
	for _, blob := range signatures {
		whole.text("", base64.StdEncoding.EncodeToString(blob))
	}
	whole.close(']')
	whole.close('}')
	var out bytes.Buffer
	_ = json.Indent(&out, whole.dst, "", "  ") // the text was built here and is JSON
	out.WriteByte('\n')
	return textcheck.EscapeUnicode(make([]byte, 0, out.Len()), out.String(), textcheck.KeepLines)
}
