package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// ShadowSuffix ends the name of a ConfigMap that stands in the shadow for the one
// without it.
const ShadowSuffix = "-shadow"

// ShadowConfigMaps is the bundle of ConfigMaps with each one replaced for which
// there is another whose name ends in ShadowSuffix. It may write what the one may
// that it stands for.
type ShadowConfigMaps struct{ Of ConfigMaps }

// Read implements Source. A bundle without files: nothing is replaced.
func (c ShadowConfigMaps) Read(ctx context.Context) (engine.Bundle, error) {
	data, missing, err := c.Of.Present(ctx)
	if err != nil {
		return engine.Bundle{Source: "the shadows of ConfigMaps in " + c.Of.Namespace}, err
	}
	var stand []string
	for _, name := range slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(data)), missing...))) {
		var found corev1.ConfigMap
		err := c.Of.Cache.Get(ctx, types.NamespacedName{Namespace: c.Of.Namespace, Name: name + ShadowSuffix}, &found)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return engine.Bundle{}, fmt.Errorf("reading ConfigMap %s/%s: %w", c.Of.Namespace, name+ShadowSuffix, err)
		}
		delete(data, name)
		data[name+ShadowSuffix] = engine.ConfigMapFiles(found.Data, found.BinaryData)
		stand = append(stand, name+ShadowSuffix)
		missing = slices.DeleteFunc(missing, func(other string) bool { return other == name })
	}
	if len(stand) == 0 {
		return engine.Bundle{}, nil
	}
	source := "configmap " + strings.Join(stand, ", ")
	if len(missing) > 0 {
		return engine.Bundle{Source: source}, c.Of.gone(missing[0])
	}
	of := c.Of
	of.standIn = true
	bundle, err := of.Assemble(data)
	bundle.Source = source
	return bundle, err
}

// moved is the bundle as it is called once it is no shadow any more: people who
// are told of a rule should not look for it where it soon is not.
func (ShadowConfigMaps) moved(b engine.Bundle) engine.Bundle {
	files := make(map[string][]byte, len(b.Files))
	for name, content := range b.Files {
		folder, file, _ := strings.Cut(name, "/")
		files[strings.TrimSuffix(folder, ShadowSuffix)+"/"+file] = content
	}
	b.Files = files
	return b
}

// Watch implements Source.
func (c ShadowConfigMaps) Watch(ctx context.Context, changed func()) error {
	informer, err := c.Of.Cache.GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return fmt.Errorf("watching ConfigMaps in %s: %w", c.Of.Namespace, err)
	}
	mark := func(obj any) {
		if o, ok := obj.(client.Object); !ok || strings.HasSuffix(o.GetName(), ShadowSuffix) {
			changed()
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    mark,
		UpdateFunc: func(_, now any) { mark(now) },
		DeleteFunc: mark,
	})
	if err != nil {
		return fmt.Errorf("watching ConfigMaps in %s: %w", c.Of.Namespace, err)
	}
	<-ctx.Done()
	return informer.RemoveEventHandler(registration)
}

// lookAtShadow reads and judges the shadow, once per content of both policies.
func (r *Rollout) lookAtShadow(ctx context.Context) {
	active := r.Engine.Active()
	if r.Shadow == nil || active == nil {
		return
	}
	bundle, err := r.Shadow.Source.Read(ctx)
	if err == nil && len(bundle.Files) == 0 {
		r.shadowed = ""
		r.Shadow.use(nil)
		r.status.dirty = r.status.dirty || r.status.want.Shadow != nil
		r.status.want.Shadow = nil
		return
	}
	key := active.Digest() + " " + bundle.Fingerprint()
	if err != nil {
		key += " " + err.Error()
	}
	if key == r.shadowed {
		return
	}
	r.shadowed = key
	var revision *engine.Revision
	var found report
	if err == nil {
		revision, found, err = r.tryShadow(ctx, active, bundle)
	}
	r.Shadow.use(revision)
	r.status.dirty = true
	r.status.want.Shadow = &v1alpha1.ShadowStatus{Revision: *shown(bundle, v1alpha1.VerdictShadow, found, r.Now())}
	if errors.As(later(err), new(unavailable)) {
		r.shadowed, r.again = "", true
	}
	if err != nil {
		r.status.want.Shadow.Verdict, r.status.want.Shadow.Errors = v1alpha1.VerdictRejected, problems(err)
		if len(bundle.Files) == 0 && isAway(err) {
			r.status.want.Shadow.Verdict = v1alpha1.VerdictUnavailable
		}
		r.Log.Error(err, "the shadow policy is refused; nothing is compared with it")
		return
	}
	r.status.want.Shadow.Warnings = listed(revision.Warnings())
	r.Log.Info("a shadow policy is compared with the one in force", "shadow", revision.Digest(), "source", revision.Source())
}

// tryShadow compiles the shadow, runs its tests and scenarios and asks it about the
// Jobs that there are, as for a candidate. It is not put into force whatever it says.
func (r *Rollout) tryShadow(ctx context.Context, active *engine.Revision, bundle engine.Bundle) (*engine.Revision, report, error) {
	revision, err := r.Engine.Try(ctx, bundle, engine.Options{Now: r.Now})
	if err != nil {
		return nil, report{}, err
	}
	gates := &Gates{Live: r.Gates.Live, Scenarios: r.Gates.Scenarios, HarmedPercentMax: 100}
	for _, gate := range gates.List() {
		err := gate(ctx, active, revision)
		if errors.As(err, new(unavailable)) {
			r.Log.Error(err, "the shadow policy has no pre-flight")
		} else if err != nil {
			return nil, gates.report, err
		}
	}
	return revision, gates.report, nil
}

// tellShadow brings what the shadow disagrees in into the status.
func (r *Rollout) tellShadow() {
	active, shown := r.Engine.Active(), r.status.want.Shadow
	if r.Shadow == nil || active == nil || shown == nil {
		return
	}
	if r.Shadow.tally.tell(pair{active.Digest(), shown.Digest}, shown) {
		r.status.dirty = true
	}
}

// promote brings the shadow into force and keeps it there until the source says
// the same. Who promotes approves: only its tests can stop it.
func (r *Rollout) promote(ctx context.Context, digest string) (held string) {
	active := r.Engine.Active()
	if active == nil || active.Digest() != digest {
		bundle, ok := r.shadowBundle(digest)
		if !ok {
			r.cannot("UnknownRevision", fmt.Sprintf("spec.promote: the shadow revision is not %s, so nothing is promoted, and %s", engine.Short(digest), standing(active)))
			return "spec.promote names " + engine.Short(digest) + ", which is neither in force nor the shadow"
		}
		if r.stuckAt(digest) {
			return ""
		}
		if source, ok := r.Shadow.Source.(interface {
			moved(engine.Bundle) engine.Bundle
		}); ok {
			bundle = source.moved(bundle)
		}
		r.Gates.begin(true, "")
		revision, err := r.activate(ctx, bundle)
		if err != nil {
			r.cannot("Refused", "spec.promote: "+firstProblem(err))
			if r.again = errors.As(err, new(unavailable)); !r.again {
				r.stuck = stuck{digest, r.answer}
			}
			r.count("rejected", because(err))
			return ""
		}
		r.inForce(ctx, active, revision, "PolicyPromoted", "is in force, promoted from the shadow")
	}
	r.answer = answer{true, "Promoted", "revision " + engine.Short(digest) + " is promoted, until the source has the same content"}
	return "revision " + engine.Short(digest) + " is promoted and not in the source yet"
}

func (r *Rollout) shadowBundle(digest string) (engine.Bundle, bool) {
	if r.Shadow == nil {
		return engine.Bundle{}, false
	}
	return r.Shadow.bundle(digest)
}
