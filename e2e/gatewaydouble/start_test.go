package gatewaydouble_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"agentgateway-lock/e2e/gatewaydouble"
)

// fakeVariable makes this test binary play the gateway's: ready, wedged, or dead
// at once.
const fakeVariable = "GATEWAYDOUBLE_TEST_BINARY"

// fakeBinary serves the readiness and admin pages that Start looks at. It is the
// gateway's command line and pages alone, without the gateway.
func fakeBinary() {
	mode := os.Getenv(fakeVariable)
	if mode == "" {
		return
	}
	if mode == "dead" {
		fmt.Fprintln(os.Stderr, "Error: no such key")
		os.Exit(1)
	}
	file := os.Args[2]
	data, err := os.ReadFile(file)
	if err != nil || os.Args[1] != "-f" {
		panic(err)
	}
	var config struct {
		Config struct {
			AdminAddr     string `yaml:"adminAddr"`
			ReadinessAddr string `yaml:"readinessAddr"`
		}
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		panic(err)
	}
	ready := http.NewServeMux()
	ready.HandleFunc("/healthz/ready", func(w http.ResponseWriter, _ *http.Request) {
		if mode == "wedged" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	admin := http.NewServeMux()
	admin.HandleFunc("/config_dump", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) })
	go func() { panic(http.ListenAndServe(config.Config.AdminAddr, admin)) }()
	panic(http.ListenAndServe(config.Config.ReadinessAddr, ready))
}

func useFakeBinary(t *testing.T, mode string) {
	t.Helper()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(gatewaydouble.BinaryVariable, self)
	t.Setenv(fakeVariable, mode)
}

var oneTarget = gatewaydouble.Config{Targets: []gatewaydouble.Target{{Name: "a", URL: "http://127.0.0.1:1/"}}}

func TestStartRunsTheDoubleWithoutABinary(t *testing.T) {
	t.Setenv(gatewaydouble.BinaryVariable, "")
	front, err := gatewaydouble.Start(context.Background(), oneTarget)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := front.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, ok := front.(*gatewaydouble.Gateway); !ok {
		t.Errorf("got %T", front)
	}
}

func TestStartRunsTheBinaryAndWaitsForIt(t *testing.T) {
	useFakeBinary(t, "ready")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	front, err := gatewaydouble.Start(ctx, oneTarget)
	if err != nil {
		t.Fatal(err)
	}
	if url := front.URL(); !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/mcp") {
		t.Errorf("got %s", url)
	}
	next := oneTarget
	next.Path = "/other"
	if err := front.Reload(ctx, next); err != nil {
		t.Fatal(err)
	}
	if url := front.URL(); !strings.HasSuffix(url, "/other") {
		t.Errorf("got %s", url)
	}
	if err := front.Reload(ctx, gatewaydouble.Config{}); err == nil {
		t.Error("an empty configuration was taken")
	}
	if err := front.Close(); err != nil {
		t.Error(err)
	}
}

func TestStartTellsWhyTheBinaryEnded(t *testing.T) {
	useFakeBinary(t, "dead")
	_, err := gatewaydouble.Start(context.Background(), oneTarget)
	if err == nil || !strings.Contains(err.Error(), "no such key") {
		t.Fatalf("got %v", err)
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	useFakeBinary(t, "wedged")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := gatewaydouble.Start(ctx, oneTarget); err == nil {
		t.Fatal("a gateway that is never ready was taken as started")
	}
}
