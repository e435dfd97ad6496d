package main

import (
	"errors"
	"fmt"
	"strings"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/report"
)

type explainCmd struct {
	resultFlags

	Code string `arg:"" optional:"" help:"The code of a finding; all codes by default."`
}

// explained is what a code means.
type explained struct {
	Code      finding.Code  `json:"code"`
	Grade     finding.Grade `json:"grade"`
	Undecided bool          `json:"undecided,omitempty"`
	Meaning   string        `json:"meaning"`
	Action    string        `json:"action"`
}

func (c *explainCmd) Run(a *app) error {
	all := []explained{}
	for _, d := range finding.Codes() {
		if c.Code == "" || c.Code == string(d.Code) {
			all = append(all, explained(d))
		}
	}
	if len(all) == 0 {
		return &exitError{code: exitBadRun, err: fmt.Errorf("there is no code %q", c.Code), hint: fmt.Sprintf("`%s explain` lists all", a.program)}
	}
	return a.result(c.resultFlags, all, func() error {
		var err error
		for i, e := range all {
			undecided, before := "", ""
			if e.Undecided {
				undecided = ", undecided"
			}
			if i > 0 {
				before = "\n"
			}
			_, wrote := fmt.Fprintf(a.stdout, "%s%s (%s%s)\n", before, e.Code, e.Grade, undecided)
			action := strings.ReplaceAll(e.Action, "`agentgateway ", "`"+a.program+" ")
			err = errors.Join(err, wrote,
				report.Hang(a.rawOut, 2, "", e.Meaning, a.textOptions()),
				report.Hang(a.rawOut, 2, "→ ", action, a.textOptions()))
		}
		return err
	})
}
