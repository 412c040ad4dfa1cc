package base

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// NoConfig marks a command that answers even where the configuration is broken.
const NoConfig = "bare"

// consent lists the flags that permit something: only the command line gives them.
var consent = [...]string{"accept-control-plane", "accept-loss", "accept-unknown-hosts", "adopt", "all", "dry-run", "file", "for", "force", "help", "merge", "orphan", "reboot-running", "reimage", "replace", "resend-secrets", "simulate", "with-secrets", "yes"}

// applySettings fills in the flags that were not given: a variable beats the file.
func (a *App) applySettings(command *cobra.Command) error {
	a.Globals.Token = firstSet(a.Env, "OAICTL_TOKEN", "AI_TOKEN")
	a.Globals.OfflineToken = firstSet(a.Env, "OAICTL_OFFLINE_TOKEN", "AI_OFFLINETOKEN")
	file := viper.New()
	path := ""
	if command.Annotations[NoConfig] == "" {
		var named bool
		path, named = a.configPath()
		if err := readConfig(file, path, named, command.Root()); err != nil {
			return err
		}
	}
	var failed error
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if failed != nil || flag.Changed || slices.Contains(consent[:], flag.Name) {
			return
		}
		value, from := a.setting(flag.Name, file, path)
		if from == "" {
			return
		}
		// Set on the value alone: Changed goes on to mean the command line.
		if err := flag.Value.Set(value); err != nil {
			failed = Usagef("read %s: value %q for --%s: %w", from, value, flag.Name, err)
		}
	})
	return failed
}

// setting is the value of a flag that was not given; from is "" where there is none.
func (a *App) setting(flag string, file *viper.Viper, path string) (value, from string) {
	names := []string{variableOf(flag)}
	if flag == "service-url" {
		names = append(names, "AI_URL") // which users of aicli have set already
	}
	for _, name := range names {
		if value, ok := a.Env.Lookup(name); ok && value != "" {
			return value, "variable " + name
		}
	}
	if file.IsSet(flag) {
		return file.GetString(flag), path
	}
	return "", ""
}

func variableOf(flag string) string {
	return "OAICTL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func firstSet(env map[string]string, names ...string) string {
	for _, name := range names {
		if value := strings.TrimSpace(env[name]); value != "" {
			return value
		}
	}
	return ""
}

// configPath is "" where there is no home; named says that the file has to be there.
func (a *App) configPath() (path string, named bool) {
	if path := a.Env["OAICTL_CONFIG"]; path != "" {
		return path, true
	}
	base := a.Env["XDG_CONFIG_HOME"]
	if base == "" {
		home := firstSet(a.Env, "HOME", "USERPROFILE")
		if home == "" {
			return "", false
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "oaictl", "config.yaml"), false
}

// readConfig refuses unknown keys: a setting silently not applied is worse than an error.
func readConfig(file *viper.Viper, path string, named bool, root *cobra.Command) error {
	if path == "" {
		return nil
	}
	switch _, err := os.Stat(path); {
	case named && err != nil:
		return Usagef("read the configuration that OAICTL_CONFIG names: %w", err)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	file.SetConfigFile(path)
	file.SetConfigType("yaml")
	if err := file.ReadInConfig(); err != nil {
		return Usagef("read %s: %w", path, err)
	}
	known := flagNames(root)
	for _, key := range file.AllKeys() {
		if slices.Contains(known, key) && !slices.Contains(consent[:], key) {
			continue
		}
		hint := ""
		if near := closest(key, known); near != "" && near != key {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return Usagef("read %s: %q cannot be set there%s", path, key, hint)
	}
	return nil
}

func flagNames(root *cobra.Command) []string {
	var names []string
	add := func(flag *pflag.Flag) {
		if !slices.Contains(names, flag.Name) {
			names = append(names, flag.Name)
		}
	}
	root.PersistentFlags().VisitAll(add)
	for _, command := range root.Commands() {
		command.LocalFlags().VisitAll(add)
		for _, name := range flagNames(command) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
