package buckettest

import (
	"context"
	"debug/buildinfo"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// What [Gateway] is opened with. They are no secret.
const (
	Bucket = "fleet"
	Region = "us-east-1"
	Access = "buckettest"
	Secret = "buckettest-secret"
)

// gatewayVersion is the version of versitygw that scripts/install-s3 installs.
// Older ones lose updates that they acknowledged.
const gatewayVersion = "v1.8.0"

// Credentials gives the AWS variables what [Gateway] is opened with, and keeps
// the machine's own out of the test.
func Credentials(t *testing.T) {
	t.Helper()
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": Access, "AWS_SECRET_ACCESS_KEY": Secret, "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "AWS_CA_BUNDLE": "",
	} {
		t.Setenv(name, value)
	}
}

// Gateway starts an S3 server over folder, which has the one bucket [Bucket], and
// ends it with the test. It says where it listens: http, a host and a port.
// Several may share one folder, as machines share a file system. It must be on a
// file system with extended attributes, which hold the versions: kept beside the
// objects (--sidecar), updates that were acknowledged got lost now and then.
func Gateway(t *testing.T, folder string) string {
	t.Helper()
	program := gatewayProgram(t)
	if err := os.MkdirAll(filepath.Join(folder, Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if address, ok := startGateway(t, program, folder); ok {
			return "http://" + address
		}
	}
	t.Fatal("the S3 server found no port to listen at")
	return ""
}

// gatewayProgram is where the server is installed, in its one right version.
func gatewayProgram(t *testing.T) string {
	t.Helper()
	root, err := os.Getwd()
	for ; err == nil; root = filepath.Dir(root) {
		if _, missing := os.Stat(filepath.Join(root, "go.mod")); missing == nil {
			break
		}
		if root == filepath.Dir(root) {
			err = errors.New("the tests do not run inside of the module")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, ".cache", "tools", "versitygw")
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatalf("make s3 installs the S3 server that is needed: %v", err)
	}
	if info.Main.Version != gatewayVersion {
		t.Fatalf("make s3 installs the S3 server that is needed, which is %s: this is %s", gatewayVersion, info.Main.Version)
	}
	return program
}

// startGateway starts the server at a port that was free a moment ago. Somebody
// else may have it by now.
func startGateway(t *testing.T, program, folder string) (string, bool) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	ctx, stop := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, program, "--quiet", "--keep-alive", "--port", address, "--access", Access, "--secret", Secret,
		"--region", Region, "posix", folder)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return address, listens(address, ended)
}

// listens waits until somebody listens at address, or the server has ended.
func listens(address string, ended <-chan struct{}) bool {
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}
