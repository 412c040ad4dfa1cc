package components

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/texttemplate"
	"github.com/oaictl/oaictl/pkg/capi/manifests"
)

// servicePort is that of the Services of webhooks.
const servicePort = 443

// object is an object as YAML has it.
type object = map[string]any

// values are what the templates are filled with.
func (p Provider) values(o Options) texttemplate.Values {
	bound, foreign := p.prefix()+"-manager", ""
	if p.acts {
		bound = p.prefix() + "-aggregated-manager"
	}
	if p.foreign {
		foreign = p.Group
	}
	return texttemplate.Values{
		"Provider": p.Name, "LabelKey": LabelKey, "Label": p.Label(), "Prefix": p.prefix(), "Namespace": p.Namespace(), "Service": p.Service(),
		"Secret": p.Secret(), "Certificate": p.certificate(), "Lease": Lease([]string{p.Name}), "Image": o.Image, "BoundRole": bound,
		"AggregateKey": p.aggregateKey(), "Foreign": foreign, "SelfManaged": o.SelfManaged, "Namespaced": o.Namespaced, "Aggregates": p.acts,
	}
}

// aggregateKey is the label of roles that are added to what the provider may do.
func (p Provider) aggregateKey() string { return "oaictl.io/aggregate-to-" + p.Name + "-manager" }

func execute(name string, values texttemplate.Values) ([]byte, error) {
	text, err := own.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return texttemplate.Text(path.Base(name), string(text), values)
}

// components is the file with all objects of a provider.
func components(p Provider, o Options) ([]byte, error) {
	definitions, err := p.definitions()
	if err != nil {
		return nil, err
	}
	webhooks, err := p.configurations()
	if err != nil {
		return nil, err
	}
	for _, calling := range slices.Concat(definitions, webhooks) {
		if err := p.called(calling, o); err != nil {
			return nil, err
		}
	}
	v := p.values(o)
	roles, err := p.roles(o)
	if err != nil {
		return nil, err
	}
	v["Roles"], err = document(roles...)
	if err != nil {
		return nil, err
	}
	namespace := object{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": object{"name": p.Namespace(), "labels": object{LabelKey: p.Label(), "pod-security.kubernetes.io/enforce": "restricted"}},
	}
	before, err := document(append([]object{namespace}, definitions...)...)
	if err != nil {
		return nil, err
	}
	rest, err := execute("components.yaml.tmpl", v)
	if err != nil {
		return nil, err
	}
	after, err := document(webhooks...)
	if err != nil {
		return nil, err
	}
	return []byte(before + "---\n" + string(rest) + "---\n" + after), nil
}

// Definitions are the kinds of the providers, a file for each provider.
func Definitions(o Options) ([]File, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	var out []File
	for _, name := range o.Providers {
		p, err := Of(name)
		if err != nil {
			return nil, err
		}
		definitions, err := p.definitions()
		if err != nil {
			return nil, err
		}
		for _, d := range definitions {
			if err := p.called(d, o); err != nil {
				return nil, err
			}
		}
		text, err := document(definitions...)
		if err != nil {
			return nil, err
		}
		out = append(out, File{name + "-kinds.yaml", []byte(text)})
	}
	return out, nil
}

// document is objects as YAML, one after the other.
func document(objects ...object) (string, error) {
	var texts []string
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "---\n"), nil
}

// definitionKind is the kind of the definitions of kinds.
const definitionKind = "CustomResourceDefinition"

// read reads the objects of a folder of the manifests, in the order of the names of their files.
func read(folder string) ([]object, error) {
	names, err := fs.Glob(manifests.Files(), path.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, name := range names {
		data, err := fs.ReadFile(manifests.Files(), name)
		if err != nil {
			return nil, err
		}
		for text := range strings.SplitSeq("\n"+string(data), "\n---") {
			var o object
			if err := yaml.Unmarshal([]byte(text), &o); err != nil {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
			if len(o) > 0 {
				objects = append(objects, o)
			}
		}
	}
	return objects, nil
}

// below is the object at a path, which is made where it is missing.
func below(o object, path ...string) object {
	for _, name := range path {
		next, is := o[name].(object)
		if !is {
			next = object{}
			o[name] = next
		}
		o = next
	}
	return o
}

func nameOf(o object) string {
	name, _ := below(o, "metadata")["name"].(string)
	return name
}

// definitions are the CustomResourceDefinitions of the provider's kinds.
func (p Provider) definitions() ([]object, error) {
	all, err := read("crd")
	if err != nil {
		return nil, err
	}
	return p.only(all), nil
}

// configurations are the webhook configurations of the provider's kinds.
func (p Provider) configurations() ([]object, error) {
	all, err := read("webhook")
	if err != nil {
		return nil, err
	}
	return p.only(all), nil
}

// only are the objects of the provider, by their names.
func (p Provider) only(all []object) []object {
	all = slices.DeleteFunc(all, func(o object) bool { return below(o, "metadata", "labels")[LabelKey] != p.Label() })
	slices.SortFunc(all, func(a, b object) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return all
}

// called makes an object that calls webhooks call those of the provider.
func (p Provider) called(o object, options Options) error {
	var clients []object
	if o["kind"] == definitionKind {
		if conversion, converts := below(o, "spec")["conversion"].(object); converts {
			clients = append(clients, below(conversion, "webhook", "clientConfig"))
		}
	}
	hooks, _ := o["webhooks"].([]any)
	for _, each := range hooks {
		hook, is := each.(object)
		if !is {
			return fmt.Errorf("%s has a webhook that is none", nameOf(o))
		}
		clients = append(clients, below(hook, "clientConfig"))
	}
	for _, client := range clients {
		service := below(client, "service")
		service["name"], service["namespace"], service["port"] = p.Service(), p.Namespace(), servicePort
	}
	if len(clients) > 0 && !options.SelfManaged { // cert-manager writes the authority of the certificate into it
		below(o, "metadata", "annotations")["cert-manager.io/inject-ca-from"] = p.Namespace() + "/" + p.certificate()
	}
	return nil
}

// roles are the ClusterRoles of the manager: what it does in the namespaces that it watches, what it always does
// outside of them or in all namespaces, and what it does where the hosts of a pool are.
func (p Provider) roles(o Options) ([]object, error) {
	rules, err := p.rules()
	if err != nil {
		return nil, err
	}
	within, wide := split(rules)
	if o.SelfManaged {
		own, err := p.selfManagedRules()
		if err != nil {
			return nil, err
		}
		wide = append(wide, own...)
	}
	role := func(name string, rules []rbacv1.PolicyRule, labels object) object {
		labels[LabelKey] = p.Label()
		return object{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
			"metadata": object{"name": p.prefix() + name, "labels": labels}, "rules": rules,
		}
	}
	labels := object{}
	if p.acts {
		labels[p.aggregateKey()] = "true"
	}
	out := []object{role("-manager", within, labels), role("-manager-wide", wide, object{})}
	if o.Namespaced {
		out = append(out, role("-agents", p.agents(rules), object{}))
	}
	return out, nil
}
