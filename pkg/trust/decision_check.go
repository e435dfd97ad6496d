package trust

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

func (s *Statement) fail(rule Rule, path, format string, args ...any) error {
	return &FormatError{Subject: decisionSubject, Rule: rule, Path: path, Detail: fmt.Sprintf(format, args...)}
}

// Check holds what one statement can say of itself: an action that fits its
// items, sorted lists, an item named once, digests where its kind has them. The
// error is a [*FormatError].
func (s *Statement) Check() error {
	action, known := actions[s.Action]
	if !known {
		return s.fail(RuleAction, "statement.action", "%s is not an action", textcheck.Quote(string(s.Action), textcheck.QuoteLength))
	}
	if s.Repository.IsZero() || s.Trust.IsZero() {
		return s.fail(RuleValue, "statement", "a statement names its repository and its trust version")
	}
	if !lockfile.CleanPath(s.Lockfile) {
		return s.fail(RuleValue, "statement.lockfile", "%s is not a path from the folder that holds .agentgateway, with slashes", textcheck.Quote(s.Lockfile, textcheck.QuoteLength))
	}
	if sshsig.CheckPrincipal(s.By) != nil {
		return s.fail(RulePrincipal, "statement.by", "%s is not one literal lower-case name", textcheck.Quote(s.By, textcheck.QuoteLength))
	}
	if len(s.Reason) > maxReason || s.At < 0 || s.At > maxTime {
		return s.fail(RuleValue, "statement", "the reason has more than %d bytes, or the time is none", maxReason)
	}
	if len(s.NotMine) > MaxNotMine || !ascending(s.NotMine, cmp.Compare) || slices.ContainsFunc(s.NotMine, func(id string) bool { return !isCommit(id) }) {
		return s.fail(RuleOrder, "statement.notMine", "the list is not one of full commit ids, sorted, each once, at most %d", MaxNotMine)
	}
	if len(s.Items) == 0 || len(s.Items) > MaxItems {
		return s.fail(RuleValue, "statement.items", "a statement is about 1 to %d items, not %d; divide it", MaxItems, len(s.Items))
	}
	for i := range s.Items {
		path := fmt.Sprintf("statement.items[%d]", i)
		if i > 0 && s.Items[i-1].Compare(s.Items[i].Key) >= 0 {
			return s.fail(RuleOrder, path, "the items are not sorted by server, kind and name, or one is there twice")
		}
		if err := s.checkItem(path, &s.Items[i], action.server); err != nil {
			return err
		}
	}
	return nil
}

// isCommit reports the full id of a commit.
func isCommit(id string) bool {
	return strings.Trim(id, "0123456789abcdef") == "" && (len(id) == 40 || len(id) == 64)
}

// kindHas says of each kind whether it has a name, a digest and a gateway digest.
var kindHas = map[surface.Kind]struct{ name, digest, gateway bool }{
	surface.KindServer:           {false, false, false},
	surface.KindSource:           {false, true, false},
	surface.KindInstructions:     {false, true, false},
	surface.KindTool:             {true, true, true},
	surface.KindPrompt:           {true, true, true},
	surface.KindResourceTemplate: {true, true, true},
	surface.KindResource:         {true, true, true},
}

func (s *Statement) checkItem(path string, it *Item, server bool) error {
	has, known := kindHas[it.Kind]
	if !known {
		return s.fail(RuleValue, path+".kind", "%s is not a kind of item", textcheck.Quote(string(it.Kind), textcheck.QuoteLength))
	}
	if server != (it.Kind == surface.KindServer) {
		return s.fail(RuleAction, path+".kind", "the action %s is not for the kind %s", s.Action, it.Kind)
	}
	if it.Server == "" || has.name != (it.Name != "") {
		return s.fail(RuleValue, path, "an item has a server, and a name where its kind has one")
	}
	if has.digest == it.Digest.IsZero() || has.gateway == it.GatewayDigest.IsZero() {
		return s.fail(RuleValue, path, "an item of the kind %s lacks a digest, or has one that its kind has not", it.Kind)
	}
	if it.Serial < 1 || it.Serial > maxTime || (it.Serial == 1) != (len(it.Previous) == 0) {
		return s.fail(RuleValue, path+".serial", "serial 1 has no previous decision, and every other one names it")
	}
	if len(it.Previous) > MaxPrevious || !ascending(it.Previous, compareDigests) || slices.ContainsFunc(it.Previous, canonical.Digest.IsZero) {
		return s.fail(RuleOrder, path+".previous", "the list is not sorted, holds something twice, or has more than %d entries", MaxPrevious)
	}
	if it.Grade < finding.Note || it.Grade > finding.Critical {
		return s.fail(RuleValue, path+".grade", "not a grade")
	}
	bad := func(name string) bool { return name == "" || len(name) > maxName }
	if len(it.Proposers) > MaxProposers || !ascending(it.Proposers, cmp.Compare) || slices.ContainsFunc(it.Proposers, bad) {
		return s.fail(RuleOrder, path+".proposers", "the list is not sorted, holds something twice, or has more than %d entries", MaxProposers)
	}
	return nil
}

func compareDigests(a, b canonical.Digest) int { return bytes.Compare(a[:], b[:]) }
