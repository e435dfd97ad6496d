package serve

import (
	"io"

	"agentgateway-lock/pkg/processor"
)

// VerdictLog writes verdicts to w until closed is called.
func VerdictLog(w io.Writer, onDrop func()) (judged func(*processor.Verdict), closed func()) {
	l := newVerdictLog(w, onDrop)
	return l.judged, l.close
}
