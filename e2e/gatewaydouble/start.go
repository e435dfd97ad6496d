package gatewaydouble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// BinaryVariable is the environment variable that names the real gateway.
const BinaryVariable = "AGENTGATEWAY_BIN"

// Front is a gateway under test: the double, or the real one.
type Front interface {
	// URL is the address of the route, for an MCP client.
	URL() string
	// Reload puts another configuration in force and returns when it is. The
	// port and the addresses stay.
	Reload(ctx context.Context, config Config) error
	// Close stops the gateway.
	Close() error
}

// Start starts the gateway that AGENTGATEWAY_BIN names, or the double where the
// variable is empty. The real one gets free ports on loopback and a folder of its
// own, and ctx bounds the wait until it is ready.
func Start(ctx context.Context, config Config) (Front, error) {
	binary := os.Getenv(BinaryVariable)
	if binary == "" {
		return New(config)
	}
	return startBinary(ctx, binary, config)
}

// binary is a running gateway of the real kind.
type binary struct {
	config  Config // the ports and addresses in use
	dir     string
	command *exec.Cmd
	exited  chan struct{}
	failure error // of the process, once exited is closed
	reloads int
	path    string
}

func startBinary(ctx context.Context, name string, config Config) (_ *binary, err error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if err := choosePorts(&config); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "agentgateway-e2e-")
	if err != nil {
		return nil, err
	}
	b := &binary{config: config, dir: dir, exited: make(chan struct{}), path: config.Path}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if err := b.write(config, ""); err != nil {
		return nil, err
	}
	log, err := os.Create(b.file("gateway.log"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	b.command = exec.Command(name, "-f", b.file("config.yaml")) //nolint:gosec,noctx // the binary that AGENTGATEWAY_BIN names, which lives until Close
	b.command.Dir, b.command.Stdout, b.command.Stderr = dir, log, log
	b.command.Env = append(os.Environ(), "HOME="+dir)
	if err := b.command.Start(); err != nil {
		b.command = nil
		return nil, err
	}
	go func() {
		b.failure = b.command.Wait()
		close(b.exited)
	}()
	return b, b.await(ctx, "http://"+config.ReadinessAddr+"/healthz/ready", "")
}

// choosePorts fills in what the configuration leaves open. The ports are free
// when they are chosen; the gateway cannot be handed an open one.
func choosePorts(config *Config) error {
	addresses := []*string{&config.AdminAddr, &config.StatsAddr, &config.ReadinessAddr}
	var data string
	if config.Port == 0 {
		addresses = append(addresses, &data)
	}
	for _, address := range addresses {
		if *address != "" {
			continue
		}
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		// Open until all are chosen, so that no two are the same.
		defer func() { _ = listener.Close() }()
		*address = listener.Addr().String()
	}
	if data != "" {
		_, port, err := net.SplitHostPort(data)
		if err != nil {
			return err
		}
		config.Port, err = strconv.Atoi(port)
		return err
	}
	return nil
}

func (b *binary) file(name string) string { return filepath.Join(b.dir, name) }

// write puts a configuration file in place of the old one.
func (b *binary) write(config Config, marker string) error {
	next := b.file("config.next")
	if err := os.WriteFile(next, writeConfig(config, marker), 0o600); err != nil {
		return err
	}
	return os.Rename(next, b.file("config.yaml"))
}

// await polls a page of the gateway until it is there and contains a text.
func (b *binary) await(ctx context.Context, url, contains string) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if body, err := fetch(ctx, url); err == nil && bytes.Contains(body, []byte(contains)) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-b.exited:
			return fmt.Errorf("the gateway ended (%w): %s", b.failure, b.log())
		case <-ctx.Done():
			return fmt.Errorf("wait for the gateway at %s: %w: %s", url, ctx.Err(), b.log())
		}
	}
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer discard(response)
	if response.StatusCode != http.StatusOK {
		return nil, &upstreamStatus{status: response.StatusCode}
	}
	return io.ReadAll(response.Body)
}

// log is the end of what the gateway wrote.
func (b *binary) log() []byte {
	data, _ := os.ReadFile(b.file("gateway.log")) // its absence says enough
	return data[max(0, len(data)-4096):]
}

func (b *binary) URL() string {
	path := b.path
	if path == "" {
		path = defaultPath
	}
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(b.config.Port)) + path
}

func (b *binary) Reload(ctx context.Context, config Config) error {
	if err := config.validate(); err != nil {
		return err
	}
	config.Port = b.config.Port
	config.AdminAddr, config.StatsAddr, config.ReadinessAddr = b.config.AdminAddr, b.config.StatsAddr, b.config.ReadinessAddr
	b.reloads++
	marker := fmt.Sprintf("reload-%d", b.reloads)
	if err := b.write(config, marker); err != nil {
		return err
	}
	b.path = config.Path
	return b.await(ctx, "http://"+config.AdminAddr+"/config_dump", marker)
}

func (b *binary) Close() error {
	if b.command != nil {
		kill := time.AfterFunc(5*time.Second, func() { _ = b.command.Process.Kill() })
		_ = b.command.Process.Signal(os.Interrupt) // it may have ended by itself
		<-b.exited
		kill.Stop()
	}
	return os.RemoveAll(b.dir)
}
