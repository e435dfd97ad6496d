package main

import (
	"errors"
	"fmt"
	"strings"

	"agentgateway-lock/pkg/finding"
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
		for _, e := range all {
			undecided := ""
			if e.Undecided {
				undecided = ", undecided"
			}
			_, wrote := fmt.Fprintf(a.stdout, "%s (%s%s)\n  %s\n  → %s\n", e.Code, e.Grade, undecided,
				strings.TrimSpace(e.Meaning), strings.ReplaceAll(e.Action, "`agentgateway ", "`"+a.program+" "))
			err = errors.Join(err, wrote)
		}
		return err
	})
}
