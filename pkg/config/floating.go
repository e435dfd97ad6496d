package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
)

// noteFloating says where a source leaves open what runs, and where others can read
// and change what is said. These are notes: they fail nothing.
func (e *entry) noteFloating(src *source.Source) {
	if src.Transport != source.Stdio {
		if host := plainHost(src.URL); host != "" {
			f := finding.New(finding.SourcePlaintext, e.place(e.line), fmt.Sprintf("%s is reached by http: over a network, at %s", e.name, host))
			f.Hint = fmt.Sprintf("Write %q.", "https"+strings.TrimPrefix(mask(src.URL, findRuns("", src.URL)), "http"))
			e.notes = append(e.notes, f)
		}
		return
	}
	command, args := unwrap(src.Command, src.Args)
	for _, word := range floating(strings.TrimSuffix(path.Base(command), ".exe"), args) {
		if len(findRuns("", word.text)) > 0 {
			continue // what it holds must not be said
		}
		f := finding.New(finding.SourceFloating, e.place(e.line), fmt.Sprintf("%s runs %q, which names no fixed version", e.name, word.text))
		f.Hint = fmt.Sprintf("Write %q; %s.", word.pinned, word.how)
		e.notes = append(e.notes, f)
	}
}

// plainHost is the host of an address that is plain http: off this machine, or "".
func plainHost(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return ""
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return ""
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.Contains(host, "$") {
		return ""
	}
	return host
}

// A loose word names a package, image or repository without a fixed version.
type loose struct {
	text   string
	pinned string // the word with a version in its place
	how    string // where to find the version
}

// A runner is a program that fetches what it runs.
type runner struct {
	programs []string
	verbs    []string // the word after the program that makes it fetch; none is needed where empty
	named    []string // options whose value is what is fetched
	valued   []string // other options that take a value
	judge    func(word string) *loose
}

var runners = []runner{
	{programs: []string{"npx", "bunx", "pnpx"}, named: []string{"-p", "--package"}, valued: []string{"-c", "--call", "--registry", "--cache", "--prefix"}, judge: looseNPM},
	{programs: []string{"npm", "pnpm", "yarn", "bun"}, verbs: []string{"exec", "dlx", "x"}, named: []string{"-p", "--package"}, judge: looseNPM},
	{programs: []string{"uvx"}, named: []string{"--from", "--with"}, valued: uvValued, judge: loosePython},
	{programs: []string{"uv"}, verbs: []string{"tool"}, named: []string{"--from", "--with"}, valued: uvValued, judge: loosePython},
	{programs: []string{"pipx"}, verbs: []string{"run"}, named: []string{"--spec"}, valued: []string{"--python", "--index-url"}, judge: loosePython},
	{programs: []string{"docker", "podman", "nerdctl"}, verbs: []string{"run"}, valued: dockerValued, judge: looseImage},
	{programs: []string{"go"}, verbs: []string{"run"}, judge: looseGo},
	{programs: []string{"dnx"}, judge: looseNPM},
}

var (
	uvValued     = []string{"--python", "-p", "--index", "--index-url", "--extra-index-url", "--default-index", "--directory", "--project", "--cache-dir"}
	dockerValued = []string{"-e", "--env", "--env-file", "-v", "--volume", "--mount", "-p", "--publish", "--name", "--network", "--net", "-w", "--workdir", "--entrypoint",
		"-u", "--user", "-l", "--label", "--platform", "--pull", "-m", "--memory", "--cpus", "-h", "--hostname", "--add-host", "--device", "--cap-add", "--cap-drop",
		"--security-opt", "--tmpfs", "--ulimit", "--gpus", "--shm-size", "--restart", "--log-driver", "--dns", "--ip", "--runtime", "--volumes-from", "--group-add"}
)

// floating returns what a command fetches without a fixed version.
func floating(command string, args []string) []loose {
	i := slices.IndexFunc(runners, func(r runner) bool { return slices.Contains(r.programs, command) })
	if i < 0 {
		return nil
	}
	r := &runners[i]
	if len(r.verbs) > 0 {
		if len(args) == 0 || !slices.Contains(r.verbs, args[0]) {
			return nil
		}
		if args = args[1:]; command == "uv" {
			if len(args) == 0 || args[0] != "run" {
				return nil
			}
			args = args[1:]
		}
	}
	var words []string
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(r.named, name):
			if !joined && i+1 < len(args) {
				i++
				value = args[i]
			}
			words = append(words, value)
		case slices.Contains(r.valued, name):
			if !joined {
				i++
			}
		case args[i] == "--" || strings.HasPrefix(args[i], "-"):
		default:
			if len(words) == 0 {
				words = append(words, args[i])
			}
			i = len(args)
		}
	}
	var found []loose
	for _, word := range words {
		if strings.Contains(word, "${") || localPath.MatchString(word) {
			continue
		}
		if l := r.judge(word); l != nil {
			l.text = word
			found = append(found, *l)
		}
	}
	return found
}

var (
	localPath    = regexp.MustCompile(`^(?:\.{0,2}[/\\]|~|[A-Za-z]:[\\/]|file:|\.$)`)
	exactVersion = regexp.MustCompile(`^=?v?\d+\.\d+\.\d+(?:[-+.][0-9A-Za-z.+-]*)?$`)
	exactPython  = regexp.MustCompile(`^\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*$`)
	commitID     = regexp.MustCompile(`[@#][0-9a-f]{40}(?:$|[#&?])`)
	gitSpecifier = regexp.MustCompile(`^(?:git[+:@]|github:|gitlab:|bitbucket:|https?://|ssh://)|^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+(?:#|$)`)
)

// looseGit judges what is fetched from a repository.
func looseGit(word, mark string) *loose {
	if commitID.MatchString(word) {
		return nil
	}
	address := word
	for _, m := range []string{"#", "@"} {
		if i := strings.LastIndex(address, m); i > strings.Index(address, "://")+3 && !strings.Contains(address[i:], "/") {
			address = address[:i]
		}
	}
	return &loose{pinned: address + mark + "COMMIT", how: "`git ls-remote " + strings.TrimPrefix(address, "git+") + " HEAD` prints the newest commit"}
}

func looseNPM(word string) *loose {
	if !strings.HasPrefix(word, "@") && gitSpecifier.MatchString(word) {
		return looseGit(word, "#")
	}
	name, version := word, ""
	if i := strings.LastIndexByte(word, '@'); i > 0 {
		name, version = word[:i], word[i+1:]
	}
	if exactVersion.MatchString(version) || strings.HasSuffix(version, ".tgz") {
		return nil
	}
	return &loose{pinned: name + "@VERSION", how: "`npm view " + name + " version` prints the newest"}
}

func loosePython(word string) *loose {
	if gitSpecifier.MatchString(word) || strings.Contains(word, "@ git+") {
		return looseGit(word, "@")
	}
	name, version, ok := strings.Cut(word, "==")
	if !ok {
		name, version, _ = strings.Cut(word, "@")
	}
	if exactPython.MatchString(version) || strings.HasSuffix(word, ".whl") {
		return nil
	}
	if i := strings.IndexAny(name, "<>=!~ "); i > 0 {
		name = name[:i]
	}
	if name == "" {
		return nil
	}
	return &loose{pinned: name + "==VERSION", how: "`uvx pip index versions " + name + "` prints them"}
}

func looseImage(word string) *loose {
	if strings.Contains(word, "@sha256:") {
		return nil
	}
	return &loose{pinned: word + "@sha256:DIGEST", how: "`docker buildx imagetools inspect " + word + "` prints it"}
}

func looseGo(word string) *loose {
	name, version, ok := strings.Cut(word, "@")
	if !ok || exactVersion.MatchString(version) {
		return nil // without a version it is what go.mod has
	}
	return &loose{pinned: name + "@VERSION", how: "`go list -m -versions MODULE` prints them"}
}
