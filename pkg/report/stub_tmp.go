package report

import "io"

func JSON(w io.Writer, r *Report) error     { return nil }
func Markdown(w io.Writer, r *Report) error { return nil }
func SARIF(w io.Writer, r *Report) error    { return nil }
func GitHub(w io.Writer, r *Report) error   { return nil }
