package rollout

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/policies/engine"
)

// The ConfigMap that keeps the last good bundle.
const (
	keptBytesMax = 900 << 10 // the API server takes 1 MiB, names and all
	keptKey      = "bundle.json.gz"
)

// Kept is the last good bundle, in a ConfigMap of the manager's own.
type Kept struct {
	Client client.Client
	Name   types.NamespacedName
}

// Save keeps a bundle.
func (k Kept) Save(ctx context.Context, b engine.Bundle) error {
	packed, err := b.Pack()
	if err != nil {
		return err
	}
	if len(packed) > keptBytesMax {
		return fmt.Errorf("the active policy is %d bytes packed, more than the %d that ConfigMap %s can keep: "+
			"it is in force, but will not survive a restart with a broken source. Try: a smaller bundle",
			len(packed), keptBytesMax, k.Name)
	}
	return k.edit(ctx, "the active policy", func(kept *corev1.ConfigMap) bool {
		if bytes.Equal(kept.BinaryData[keptKey], packed) {
			return false
		}
		kept.BinaryData = map[string][]byte{keptKey: packed}
		return true
	})
}

// edit writes the ConfigMap, made if need be, where change says that it changed
// anything.
func (k Kept) edit(ctx context.Context, what string, change func(*corev1.ConfigMap) bool) error {
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.Name.Namespace, Name: k.Name.Name}}
	err := k.Client.Get(ctx, k.Name, kept)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("reading ConfigMap %s: %w", k.Name, err)
	}
	if !change(kept) {
		return nil
	}
	if missing {
		err = k.Client.Create(ctx, kept)
	} else {
		err = k.Client.Update(ctx, kept)
	}
	if err != nil {
		return fmt.Errorf("keeping %s in ConfigMap %s: %w", what, k.Name, err)
	}
	return nil
}

// Load returns the kept bundle; false if there is none.
func (k Kept) Load(ctx context.Context) (engine.Bundle, bool, error) {
	var kept corev1.ConfigMap
	err := k.Client.Get(ctx, k.Name, &kept)
	if apierrors.IsNotFound(err) {
		return engine.Bundle{}, false, nil
	}
	if err != nil {
		return engine.Bundle{}, false, fmt.Errorf("reading ConfigMap %s: %w", k.Name, err)
	}
	packed, there := kept.BinaryData[keptKey]
	if !there {
		return engine.Bundle{}, false, nil
	}
	bundle, err := engine.Unpack(packed)
	if err != nil {
		return engine.Bundle{}, false, spoiled{fmt.Errorf("reading what ConfigMap %s keeps: %w", k.Name, err)}
	}
	return bundle, true, nil
}

// spoiled is what was kept and cannot be read, however often one tries.
type spoiled struct{ error }

func (s spoiled) Unwrap() error { return s.error }

// keepAgain writes down once more what is kept, in case somebody deleted it;
// nothing is written where it is.
func (r *Rollout) keepAgain() {
	if len(r.unkept) > 0 {
		return
	}
	if active := r.Engine.Active(); active != nil {
		r.unkept = append(r.unkept, keeping{r.Kept, active.Bundle()})
	}
	if r.previous != nil {
		r.unkept = append(r.unkept, keeping{r.Before, *r.previous})
	}
	r.pledged = pledge{}
}
