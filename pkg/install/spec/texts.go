package spec

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Set reads a taint as kubectl writes it: KEY=VALUE:EFFECT, or KEY:EFFECT. What it
// takes for the parts is checked with the host that gets the taint.
func (t *Taint) Set(text string) error {
	rest, effect, found := strings.Cut(text, ":")
	key, value, _ := strings.Cut(rest, "=")
	if !found || key == "" || effect == "" {
		return fmt.Errorf("%q is not a taint; write KEY=VALUE:EFFECT, such as example.com/disks=many:NoSchedule", text)
	}
	*t = Taint{Key: key, Value: value, Effect: TaintEffect(effect)}
	return nil
}

// Set reads which disk is installed on: the path of a device, or what it has to be
// like, by the fields of disk.hints: wwn=0x5000c500a0b1c2d3, or
// rotational=false,minSizeGigabytes=200. What it takes for them is checked with the host.
func (h *DiskHints) Set(text string) error {
	if strings.HasPrefix(text, "/") {
		*h = DiskHints{DeviceName: text}
		return nil
	}
	var hints DiskHints
	into := reflect.ValueOf(&hints).Elem()
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(part), "=")
		if !found || value == "" {
			return fmt.Errorf("%q is neither a device nor a hint; write /dev/NAME, or HINT=VALUE, such as wwn=0x5000c500a0b1c2d3", part)
		}
		field, _, known := fieldByKey(into, name)
		if !known {
			return fmt.Errorf("there is no hint %q for a disk; %s", name, didYouMean(name, into.Type(), ""))
		}
		if !field.IsZero() {
			return fmt.Errorf("the hint %s stands here twice", name)
		}
		if err := setText(field, value); err != nil {
			return fmt.Errorf("%s=%s: %w", name, value, err)
		}
	}
	*h = hints
	return nil
}

// setText sets a text, a number, or a truth value behind a pointer.
func setText(field reflect.Value, text string) error {
	switch field.Kind() {
	case reflect.Int:
		number, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("is not a number")
		}
		field.SetInt(int64(number))
	case reflect.Pointer:
		truth, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("is neither true nor false")
		}
		field.Set(reflect.ValueOf(&truth))
	default:
		field.SetString(text)
	}
	return nil
}
