package kubewatch_test

import (
	"context"
	"errors"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/kubewatch"
	"github.com/oaictl/oaictl/internal/shared/must"
)

type store struct {
	*kubewatch.Store[*corev1.ConfigMap, string]
	changes int
}

func newStore() *store {
	s := &store{}
	s.Store = kubewatch.NewStore(kubewatch.Config[*corev1.ConfigMap, string]{
		What: "configmaps", Key: (*corev1.ConfigMap).GetName, Read: func(m *corev1.ConfigMap) string { return m.Data["v"] },
		Same: func(a, b string) bool { return a == b }, Changed: func(*corev1.ConfigMap) { s.changes++ },
	})
	return s
}

func configMap(name string, version int, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: strconv.Itoa(version)},
		Data:       map[string]string{"v": value},
	}
}

// TestReadYourWrites: a write is read at once, also where the watch is late.
func TestReadYourWrites(t *testing.T) {
	other := configMap("a", 12, "second")
	other.UID = "another"
	for name, test := range map[string]struct {
		events func(*store) error
		want   []string
	}{
		"nothing else":               {func(*store) error { return nil }, []string{"written"}},
		"an event from before":       {func(s *store) error { return s.Update(configMap("a", 9, "late")) }, []string{"written"}},
		"the write itself":           {func(s *store) error { return s.Update(configMap("a", 10, "written")) }, []string{"written"}},
		"an event from after":        {func(s *store) error { return s.Update(configMap("a", 11, "newer")) }, []string{"newer"}},
		"a list from before":         {func(s *store) error { return s.Replace([]any{configMap("a", 4, "old")}, "9") }, []string{"written"}},
		"a list from before without": {func(s *store) error { return s.Replace(nil, "9") }, []string{"written"}},
		"a list from after without":  {func(s *store) error { return s.Replace(nil, "11") }, nil},
		"its deletion":               {func(s *store) error { return s.Delete(configMap("a", 11, "")) }, nil},
		"another of the name": {func(s *store) error {
			return errors.Join(s.Update(other), s.Delete(configMap("a", 11, "")))
		}, []string{"second"}},
		"a write after its deletion": {func(s *store) error {
			err := s.Delete(configMap("a", 11, ""))
			s.Write(configMap("a", 10, "deleted meanwhile"))
			return err
		}, nil},
		"a write that the watch has overtaken": {func(s *store) error {
			err := s.Update(configMap("a", 12, "newest"))
			s.Write(configMap("a", 11, "late"))
			return err
		}, []string{"newest"}},
	} {
		s := newStore()
		must.Do(t, s.Replace([]any{configMap("a", 4, "old")}, "8"))
		s.Write(configMap("a", 10, "written"))
		must.Do(t, test.events(s))
		check.Slice(t, s.All(), test.want, name)
	}
}

// TestRestoredServer: an API server that is restored from a backup counts from an earlier version.
func TestRestoredServer(t *testing.T) {
	s := newStore()
	must.Do(t, errors.Join(
		s.Replace([]any{configMap("a", 90, "a"), configMap("b", 91, "b")}, "100"),
		s.Replace([]any{configMap("a", 40, "restored")}, "50"), s.Update(configMap("a", 51, "now")),
	))
	s.Write(configMap("c", 52, "c"))
	check.Slice(t, s.All(), []string{"now", "c"})

	// An informer that lists again gives an update of each object.
	must.Do(t, errors.Join(s.Update(configMap("a", 90, "a")), s.Update(configMap("a", 30, "restored"))))
	s.Write(configMap("d", 32, "d"))
	check.Slice(t, s.All(), []string{"restored", "c", "d"})
}

// TestBroughtWritesAreHeldOnce: what the watch brings takes the place of what an own write has returned.
func TestBroughtWritesAreHeldOnce(t *testing.T) {
	changes := 0
	s := kubewatch.NewStore(kubewatch.Config[*corev1.ConfigMap, *corev1.ConfigMap]{
		What: "configmaps", Key: (*corev1.ConfigMap).GetName, Read: func(m *corev1.ConfigMap) *corev1.ConfigMap { return m },
		Changed: func(*corev1.ConfigMap) { changes++ },
	})
	written, brought := configMap("a", 10, "x"), configMap("a", 10, "x")
	s.Write(written)
	if s.All()[0] != written {
		t.Error("the write is not there")
	}
	must.Do(t, s.Update(brought))
	if s.Get("a") != brought || s.All()[0] != brought || changes != 1 || s.Changes() != 1 {
		t.Errorf("both are held, after %d changes", changes)
	}
}

// TestChanges: a version with the same value is no change.
func TestChanges(t *testing.T) {
	s := newStore()
	for i, step := range []struct {
		do      func() error
		changes int
	}{
		{func() error { return s.Update(configMap("a", 1, "x")) }, 1},
		{func() error { return s.Update(configMap("a", 2, "x")) }, 1},
		{func() error { return s.Update(configMap("a", 3, "y")) }, 2},
		{func() error { s.Fail(errors.New("gone")); return nil }, 3},
		{func() error { s.Fail(errors.New("gone")); return nil }, 3},
		{func() error { s.Fail(nil); return nil }, 4},
	} {
		if err := step.do(); err != nil || s.changes != step.changes {
			t.Errorf("step %d: %d changes, want %d: %v", i, s.changes, step.changes, err)
		}
	}
}

// server serves ConfigMaps as an API server does that cannot list by watching: it answers what a test gives.
type server struct {
	lists   chan answer
	watches chan answer
	begun   chan *watch.FakeWatcher
}

type answer struct {
	version int
	err     error
}

func (s *server) List(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) {
	a := <-s.lists
	return &corev1.ConfigMapList{
		ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.version)}, Items: []corev1.ConfigMap{*configMap("a", a.version, "list")},
	}, a.err
}

func (s *server) Watch(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if o.SendInitialEvents != nil {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil)
	}
	if a := <-s.watches; a.err != nil {
		return nil, a.err
	}
	w := watch.NewFake()
	s.begun <- w
	return w, nil
}

// TestFollow: a refused list is reported and tried again, an expired watch is listed again, and nothing runs on after the end.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &server{lists: make(chan answer), watches: make(chan answer), begun: make(chan *watch.FakeWatcher)}
		s := newStore()
		life, end := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
		done := make(chan struct{})
		go func() {
			defer close(done)
			kubewatch.Follow(life, s.Store, api, metav1.ListOptions{}, api)
		}()
		api.lists <- answer{err: apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("no"))}
		if err := s.Wait(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("waited: %v", err)
		}
		api.lists <- answer{version: 1}
		check.Do(t, errors.Join(s.Wait(t.Context()), s.Failing()), "once it answers")
		api.watches <- answer{}
		w := <-api.begun
		w.Modify(configMap("a", 100, "watched"))
		synctest.Wait()
		check.Equal(t, s.Get("a"), "watched")
		w.Stop()
		api.watches <- answer{err: apierrors.NewResourceExpired("too old")}
		api.lists <- answer{version: 200}
		api.watches <- answer{}
		<-api.begun
		if got, err := s.Get("a"), s.Failing(); got != "list" || err != nil {
			t.Errorf("after an expired watch: %q, %v", got, err)
		}
		end()
		<-done
	})
}

// TestReporting: what keeps a reflector from going on is reported, and no refusal of one way after which it takes another.
func TestReporting(t *testing.T) {
	refused, invalid := syscall.ECONNREFUSED, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil)
	for name, test := range map[string]struct {
		streamed bool
		err      error
		reported bool
	}{
		"a watch":                                      {false, nil, true},
		"a watch that is refused":                      {false, refused, true},
		"one of a version that is forgotten":           {false, apierrors.NewResourceExpired("too old"), false},
		"a list by watching":                           {true, nil, true},
		"one that the server cannot do":                {true, invalid, false},
		"one that is refused, and asked for again":     {true, refused, true},
		"one too many, which is asked for again later": {true, apierrors.NewTooManyRequests("", 1), true},
	} {
		reported := false
		source := kubewatch.Reporting(&cache.ListWatch{
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, test.err },
		}, func(err error) { reported = errors.Is(err, test.err) })
		options := metav1.ListOptions{}
		if test.streamed {
			options.SendInitialEvents = new(bool)
		}
		if err := check.Err(source.WatchWithContext(t.Context(), options)); !errors.Is(err, test.err) || reported != test.reported {
			t.Errorf("%s: reported %t, and returned %v", name, reported, err)
		}
	}
}
