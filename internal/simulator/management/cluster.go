package management

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
)

// MakeCluster makes objects (YAML), a Cluster of that name among them, and waits until it is Available. It returns the
// Cluster's kubeconfig. says is told what Cluster API says of it meanwhile.
func MakeCluster(ctx context.Context, kube *rest.Config, namespace, name string, objects []byte, says func(string)) ([]byte, error) {
	client, err := dynamic.NewForConfig(kube)
	if err != nil {
		return nil, fmt.Errorf("make Cluster %s: %w", name, err)
	}
	core, err := kubernetes.NewForConfig(kube)
	if err != nil {
		return nil, fmt.Errorf("make Cluster %s: %w", name, err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(objects), 4096); ; {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && u.Object != nil {
			err = makeSoon(ctx, client, u)
		}
		if err != nil {
			return nil, fmt.Errorf("make %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	clusters := client.Resource(schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2",
		Resource: "clusters"}).Namespace(namespace)
	for last := []string(nil); ; {
		cluster, err := clusters.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("follow Cluster %s: %w", name, err)
		}
		available := apiobject.Condition(cluster, "Available")
		if available["status"] == "True" {
			break
		}
		message, _ := available["message"].(string)
		now := linesOf(message)
		for _, line := range changedLines(last, now) {
			says(line)
		}
		last = now
		if err := clock.Real().Sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	kubeconfig, err := core.CoreV1().Secrets(namespace).Get(ctx, name+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of Cluster %s: %w", name, err)
	}
	return kubeconfig.Data["value"], nil
}

// linesOf are the lines of a message of Cluster API, which is a list with one condition, or one Machine, a line. A line
// that is no item of its own belongs to the one before it.
func linesOf(message string) []string {
	var lines []string
	for line := range strings.SplitSeq(message, "\n") {
		text, item := strings.CutPrefix(strings.TrimSpace(line), "* ")
		switch {
		case text == "":
		case item || len(lines) == 0 || strings.HasSuffix(lines[len(lines)-1], ":"):
			lines = append(lines, text)
		default:
			lines[len(lines)-1] += " " + text
		}
	}
	return lines
}

const longestLine = 120

// changedLines says what is new in a message, a short line for each condition or Machine: its first sentence that was not
// there before, and how many more there are.
func changedLines(before, now []string) []string {
	var lines []string
	for _, line := range now {
		subject, sentences := sentencesOf(line)
		var known []string
		for _, old := range before {
			if of, those := sentencesOf(old); of == subject {
				known = append(known, those...)
			}
		}
		sentences = slices.DeleteFunc(sentences, func(s string) bool { return slices.Contains(known, s) })
		if len(sentences) == 0 {
			continue
		}
		text, more := []rune(subject+sentences[0]), ""
		if len(text) > longestLine {
			text = append(text[:longestLine-1], '…')
		}
		if len(sentences) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(sentences)-1)
		}
		lines = append(lines, string(text)+more)
	}
	return lines
}

// sentencesOf is what a line is about, and what it says of that.
func sentencesOf(line string) (subject string, sentences []string) {
	subject, text, _ := strings.Cut(line, ": ")
	if text == "" {
		return "", []string{line}
	}
	return subject + ": ", strings.Split(text, "; ")
}

// makeSoon makes an object as soon as the webhooks answer that it is shown to, unless it is there.
func makeSoon(ctx context.Context, objects dynamic.Interface, u *unstructured.Unstructured) (err error) {
	const patience = 120 // seconds, in which a process certainly listens
	resource, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	of := dynamic.ResourceInterface(objects.Resource(resource))
	if namespace := u.GetNamespace(); namespace != "" {
		of = objects.Resource(resource).Namespace(namespace)
	}
	for range patience {
		_, err = of.Create(ctx, u, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			return err
		}
		if err := clock.Real().Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return err
}
