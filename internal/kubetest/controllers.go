package kubetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

type controllers struct {
	command *exec.Cmd
	log     string        // file
	ended   chan struct{} // closed when the process has
}

func startControllers(ctx context.Context, c *Cluster) (*controllers, error) {
	kubeconfig := filepath.Join(c.scratch.folder, "controllers.kubeconfig")
	if err := writeKubeconfig(kubeconfig, c.Config); err != nil {
		return nil, err
	}
	certificate, key, err := writeCA(c.scratch.folder)
	if err != nil {
		return nil, err
	}
	program, err := c.program(ctx, "kube-controller-manager")
	if err != nil {
		return nil, err
	}
	k := &controllers{log: filepath.Join(c.scratch.folder, "controllers.log"), ended: make(chan struct{})}
	log, err := os.Create(k.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	k.command = exec.Command(program, //nolint:noctx // it outlives the test that starts it; stop ends it
		"--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1", "--secure-port=0", "--leader-elect=false",
		"--cluster-signing-cert-file="+certificate, "--cluster-signing-key-file="+key,
		"--controllers="+strings.Join([]string{
			"garbage-collector-controller", "namespace-controller", "serviceaccount-controller",
			"root-ca-certificate-publisher-controller", "certificatesigningrequest-signing-controller",
			"certificatesigningrequest-approving-controller", "certificatesigningrequest-cleaner-controller",
		}, ","))
	k.command.Stdout, k.command.Stderr = log, log
	if err := k.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = k.command.Wait()
		close(k.ended)
	}()
	return k, nil
}

// ready waits for the first thing that the controllers do.
func (k *controllers) ready(ctx context.Context, client kubernetes.Interface) error {
	return poll(ctx, "the controllers", func(ctx context.Context) error {
		select {
		case <-k.ended:
			said, _ := os.ReadFile(k.log)
			return fmt.Errorf("kube-controller-manager ended: %s", said[max(0, len(said)-2000):])
		default:
		}
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// stop ends the controllers at once: they keep nothing that they would have to write.
func (k *controllers) stop() error {
	err := k.command.Process.Kill()
	<-k.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func writeCA(folder string) (certificate, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "kubetest"}, private)
	if err != nil {
		return "", "", err
	}
	encoded, err := keyutil.MarshalPrivateKeyToPEM(private)
	if err != nil {
		return "", "", err
	}
	certificate, key = filepath.Join(folder, "signing.crt"), filepath.Join(folder, "signing.key")
	chain, err := cert.EncodeCertificates(ca)
	return certificate, key, errors.Join(err, cert.WriteCert(certificate, chain), keyutil.WriteKey(key, encoded))
}
