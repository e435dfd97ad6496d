package gatewaydouble

import "testing"

// The expected spellings were worked out by hand from the gateway's contract and
// the rounding of IEEE 754.
func TestNumbersAreRespelled(t *testing.T) {
	for given, want := range map[string]string{
		"0":                       "0",
		"1":                       "1",
		"1.0":                     "1.0",
		"1e3":                     "1000.0",
		"1E+2":                    "100.0",
		"-0":                      "-0.0",
		"-0.0":                    "-0.0",
		"0.1":                     "0.1",
		"-1.5":                    "-1.5",
		"9007199254740993":        "9007199254740993",
		"9223372036854775807":     "9223372036854775807",
		"18446744073709551615":    "18446744073709551615",
		"18446744073709551616":    "1.8446744073709552e19",
		"-9223372036854775808":    "-9223372036854775808",
		"-9223372036854775809":    "-9.223372036854776e18",
		"1e-400":                  "0.0",
		"-1e-400":                 "-0.0",
		"0e400":                   "0.0",
		"0e99999999999":           "0.0",
		"1e-99999999999":          "0.0",
		"1e16":                    "1e16",
		"1e15":                    "1000000000000000.0",
		"123456789012345678901.5": "1.2345678901234567e20",
		"1.5e300":                 "1.5e300",
		"0.00001":                 "0.00001",
		"0.000001":                "1e-6",
		"2.5e-7":                  "2.5e-7",
		"5e-324":                  "5e-324",
	} {
		parsed, err := parseNumber(given)
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if got := parsed.spell(); got != want {
			t.Errorf("%s is spelled %s, want %s", given, got, want)
		}
	}
	for _, given := range []string{"1e400", "-1e400", "1e99999999999", "2e308"} {
		if parsed, err := parseNumber(given); err == nil {
			t.Errorf("%s was read as %s, want an error", given, parsed.spell())
		}
	}
}

func TestPriorityIsASinglePrecisionNumber(t *testing.T) {
	for given, want := range map[string]string{"0.5": "0.5", "0.123456789012": "0.12345679", "1": "1.0", "0.1": "0.1"} {
		parsed, err := parseNumber(given)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.spellFloat32(); got != want {
			t.Errorf("%s is spelled %s, want %s", given, got, want)
		}
	}
}

func TestTextIsReadAndWrittenAsTheGatewayDoes(t *testing.T) {
	for given, want := range map[string]string{
		`"\u00e9\/\u003c\u2028"`:                 "\"é/<\u2028\"",
		`"\ud83d\ude00"`:                         `"😀"`,
		"\"\\b\\f\\n\\r\\t\\\"\\\\\\u0001\x7f\"": "\"\\b\\f\\n\\r\\t\\\"\\\\\\u0001\x7f\"",
		`"\ud800"`:                               "",
		`"\ud800\u0041"`:                         "",
		`"\udc00"`:                               "",
		"\"\xff\"":                               "",
		"\"\n\"":                                 "",
		`{"b":1,"a":2,"b":{"x":1,"x":2}}`:        `{"b":{"x":2},"a":2}`,
		`01`:                                     "",
		`1.`:                                     "",
		`.5`:                                     "",
		`[1,]`:                                   "",
		`{"a":1,}`:                               "",
		`[1] 2`:                                  "",
		`nul`:                                    "",
		``:                                       "",
		` [ 1 , true , null ] `:                  `[1,true,null]`,
	} {
		parsed, err := parse([]byte(given))
		switch {
		case err != nil && want != "":
			t.Errorf("%s: %v", given, err)
		case err == nil && string(encode(parsed.free())) != want:
			t.Errorf("%s is written as %s, want %q", given, encode(parsed.free()), want)
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	nested := func(depth int) []byte {
		text := make([]byte, 0, 2*depth)
		for range depth {
			text = append(text, '[')
		}
		for range depth {
			text = append(text, ']')
		}
		return text
	}
	if _, err := parse(nested(128)); err != nil {
		t.Errorf("128 levels: %v", err)
	}
	if _, err := parse(nested(129)); err == nil {
		t.Error("129 levels were read")
	}
}

func TestPatternsOfMethods(t *testing.T) {
	p := Processor{Methods: map[string]Phase{
		"tools/list": Response, "tools/*": Request, "*/list": Full, "*": Off,
		"resources/templates/*": Request, "resources/*": Response, "a*b": Full, "**": Full, "": Full,
	}}
	for method, want := range map[string]Phase{
		"tools/list":               Response, // exact before prefix
		"tools/call":               Request,
		"prompts/list":             Full,     // suffix
		"resources/list":           Response, // prefix before suffix
		"resources/templates/list": Request,  // the longer prefix
		"ping":                     Off,
		"axb":                      Off, // can never match
	} {
		if got := p.phase(method); got != want {
			t.Errorf("%s: got %s, want %s", method, got, want)
		}
	}
}

func TestURIsAndTargets(t *testing.T) {
	r := &relay{Config: Config{Targets: []Target{{Name: "a"}, {Name: "b"}}}}
	for given, want := range map[string]string{
		"http://x/y": "a+http://x/y", "memo:insights": "a+memo:insights", "ui://p/q": "ui://a+p/q",
		"relative/path": "relative/path", "": "", "1x:y": "1x:y", "{+var}": "{+var}",
	} {
		if got := r.publicURI("a", given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
	for _, name := range []string{"a_b", "A", "a+b", "-a", "a-", "a..b", ""} {
		config := Config{Targets: []Target{{Name: name, URL: "http://127.0.0.1/"}}}
		if err := config.validate(); err == nil {
			t.Errorf("target name %q was accepted", name)
		}
	}
}
