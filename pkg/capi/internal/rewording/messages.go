// Package rewording rewrites the messages of the library for users of Cluster API: they name the fields of its objects
// instead of cluster.yaml, and the commands of a user who applies objects.
package rewording

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/fieldmap"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Problems are what is wrong with a cluster that was made of objects, a sentence each; nil for an error
// that says something else.
func Problems(err error) []string {
	problems, is := errors.AsType[*spec.Problems](err)
	if !is {
		return nil
	}
	var sentences []string
	for _, p := range problems.List {
		text := Text(p.Message)
		if p.Field != "" {
			text = fmt.Sprintf("%s: %s", fieldOf(p.Field), text)
		}
		if p.Remedy != "" {
			text += ": " + Text(p.Remedy)
		}
		sentences = append(sentences, text)
	}
	return sentences
}

// fieldOf is where the objects say what cluster.yaml says in a field; the field itself where they do not.
func fieldOf(path string) string {
	place, below, known := fieldmap.LookUp(path)
	switch {
	case !known, place.By == fieldmap.ByNobody:
		return path
	case place.By == fieldmap.ByMachines:
		return place.At
	}
	return string(place.By) + " spec." + place.At + below
}

// paths finds fields of cluster.yaml in a text.
var paths = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bspec\.[a-z][A-Za-z.]*[A-Za-z]`) })

// Text is a text with the fields of the objects, and advice that they take, in place of those of cluster.yaml.
func Text(text string) string { return paths().ReplaceAllStringFunc(fieldmap.Reword(text), fieldOf) }

// kubeconfigFlag gives the command line a kubeconfig of the installed cluster. Advice with it is replaced as a whole:
// the providers read the kubeconfig from a Secret.
const kubeconfigFlag = "--cluster-kubeconfig FILE"

// Advise is what to do next, for a user who applies objects. Other commands are typed as they are.
func Advise(a model.Advice) string {
	if strings.Contains(string(a), kubeconfigFlag) {
		return "put a kubeconfig of the cluster's administrator, by which it is reached from here, into the Secret CLUSTER-kubeconfig, with " +
			"the label cluster.x-k8s.io/cluster-name: CLUSTER"
	}
	return Text(byItself(a.Render(func(command string) string {
		if strings.Contains(command, "-f FILE") {
			return "kubectl apply -f FILE"
		}
		return "oaictl " + command
	})))
}

// byItself changes "run the same command again" into "it is tried again": with Cluster API no command is run.
func byItself(text string) string {
	return strings.NewReplacer(
		"change the file and run the same command again", "change the object",
		" and run the same command again", ": it is tried again by itself",
		"run the same command again in a while", "it is tried again by itself",
		"run the same command again", "it is tried again by itself",
	).Replace(text)
}

// Sentence is what was found, with what to do about it.
func Sentence(message string, remedy model.Advice) string {
	if remedy == "" {
		return Text(message)
	}
	return Text(message) + ": " + Advise(remedy)
}

// LeftOut is why the cluster is about to be installed without a Machine whose host has registered, a sentence each; nil
// where it takes part.
func LeftOut(plan *model.Plan, machine string) []string {
	var sentences []string
	for _, w := range plan.Warnings {
		if w.Reason == model.ReasonLeftOut && w.Scope == model.ScopeHost.Of(machine) {
			sentences = append(sentences, Sentence(w.Message, w.Next))
		}
	}
	return sentences
}

// Error is an error with what to do about it.
func Error(err error) string { return Sentence(err.Error(), model.FaultOf(err).Next) }

// longest is how many bytes a condition may say: more than a person reads, and less than Kubernetes takes.
const longest = 8192

// Lines are several sentences in one text, as a condition says them.
func Lines(sentences []string) string { return Message(strings.Join(sentences, "; ")) }

// Message is a text as a condition may say it.
func Message(text string) string { return Short(text, longest) }

// Short is a text of so many bytes at most.
func Short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}

// Reference names an object of the service by its id, which on a hub is NAMESPACE/NAME. A host has the
// namespace of its InfraEnv, within; it is empty for anything else.
func Reference(id, within string) *bootstrapv1.ObjectReference {
	if namespace, name, both := strings.Cut(id, "/"); both {
		return &bootstrapv1.ObjectReference{Namespace: namespace, Name: name}
	}
	namespace, _, both := strings.Cut(within, "/")
	if !both {
		namespace = ""
	}
	return &bootstrapv1.ObjectReference{Namespace: namespace, Name: id}
}
