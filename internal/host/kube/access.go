package kube

import (
	"errors"
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// kubeconfig is the part of a kubeconfig that is read. Programs, files and plugins that it may name are not used.
type kubeconfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Current    string         `json:"current-context"`
	Contexts   []contextEntry `json:"contexts"`
	Clusters   []clusterEntry `json:"clusters"`
	Users      []userEntry    `json:"users"`
}

type contextEntry struct {
	Name    string `json:"name"`
	Context struct {
		Cluster string `json:"cluster"`
		User    string `json:"user"`
	} `json:"context"`
}

type clusterEntry struct {
	Name    string  `json:"name"`
	Cluster cluster `json:"cluster"`
}

type userEntry struct {
	Name string `json:"name"`
	User user   `json:"user"`
}

type cluster struct {
	Server     string `json:"server"`
	CA         []byte `json:"certificate-authority-data,omitempty"`
	ServerName string `json:"tls-server-name,omitempty"`
}

type user struct {
	Certificate []byte `json:"client-certificate-data,omitempty"`
	Key         []byte `json:"client-key-data,omitempty"`
	Token       string `json:"token,omitempty"`
}

// PlainKubeconfig is a kubeconfig with only what FromKubeconfig reads, for a program that would also run what a kubeconfig
// names, and read files. An error shows nothing of the content.
func PlainKubeconfig(content []byte) ([]byte, error) {
	if _, err := FromKubeconfig(content); err != nil {
		return nil, err
	}
	var plain kubeconfig
	if err := yaml.Unmarshal(content, &plain); err != nil {
		return nil, errors.New("read a kubeconfig: it is not YAML of the expected form")
	}
	plain.APIVersion, plain.Kind = "v1", "Config"
	return yaml.Marshal(plain)
}

// FromKubeconfig reads a kubeconfig that has its certificates in it, as those of a new cluster have. It reads no other file
// and runs no program that the kubeconfig names. An error shows nothing of the content.
func FromKubeconfig(content []byte) (*rest.Config, error) {
	var file kubeconfig
	if err := yaml.Unmarshal(content, &file); err != nil {
		return nil, errors.New("read a kubeconfig: it is not YAML of the expected form")
	}
	where, who, err := file.access()
	if err != nil {
		return nil, fmt.Errorf("read a kubeconfig: %w", err)
	}
	server, err := url.Parse(where.Server)
	if err != nil || server.Scheme != "https" || server.Host == "" {
		return nil, errors.New("read a kubeconfig: its server is not an https URL")
	}
	if len(who.Certificate) == 0 && who.Token == "" {
		return nil, errors.New("read a kubeconfig: its user has neither client-certificate-data nor a token")
	}
	config := &rest.Config{
		Host: where.Server, BearerToken: who.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: where.CA, CertData: who.Certificate, KeyData: who.Key, ServerName: where.ServerName},
	}
	return config, nil
}

// access is the cluster and the user of the current context.
func (k *kubeconfig) access() (cluster, user, error) {
	for _, context := range k.Contexts {
		if context.Name != k.Current {
			continue
		}
		for _, where := range k.Clusters {
			if where.Name != context.Context.Cluster {
				continue
			}
			for _, who := range k.Users {
				if who.Name == context.Context.User {
					return where.Cluster, who.User, nil
				}
			}
		}
		return cluster{}, user{}, errors.New("the cluster or the user of its current context is missing")
	}
	return cluster{}, user{}, errors.New("its current context is missing")
}

// Connect makes a client of the cluster of a kubeconfig, or with nil of the cluster in which this program runs as a pod.
func Connect(kubeconfig []byte) (*Client, error) {
	if kubeconfig != nil {
		config, err := FromKubeconfig(kubeconfig)
		if err != nil {
			return nil, err
		}
		return New(config)
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the API server of the cluster of this pod: %w", err)
	}
	return New(config)
}
