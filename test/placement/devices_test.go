//go:build plane

package placement_test

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/dra"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/supply"
)

// create makes the objects around nodes and pods, and those of devices.
func (g *game) create(ctx context.Context) error {
	if err := g.createAround(ctx); err != nil {
		return err
	}
	if g.Devices == nil {
		return nil
	}
	c := g.client.ResourceV1()
	admin := []byte(`{"metadata":{"labels":{"` + resourcev1.DRAAdminNamespaceLabelKey + `":"true"}}}`)
	if _, err := g.client.CoreV1().Namespaces().Patch(ctx, g.ns, types.MergePatchType, admin, metav1.PatchOptions{}); err != nil {
		return err
	}
	return cmp.Or(
		each(ctx, g.Devices.Classes, c.DeviceClasses().Create), each(ctx, g.Devices.Rules, c.DeviceTaintRules().Create),
		each(ctx, g.Devices.Slices, c.ResourceSlices().Create), each(ctx, g.Devices.Templates, c.ResourceClaimTemplates(g.ns).Create),
		each(ctx, g.Devices.Claims, c.ResourceClaims(g.ns).Create),
	)
}

func each[T any](ctx context.Context, list []*T, create func(context.Context, *T, metav1.CreateOptions) (*T, error)) error {
	for _, one := range list {
		if _, err := create(ctx, one, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("making a %T: %w", one, err)
		}
	}
	return nil
}

// remove takes away what is of no namespace.
func (g *game) remove(ctx context.Context) error {
	if err := g.removeAround(ctx); err != nil {
		return err
	}
	if g.Devices == nil {
		return nil
	}
	c := g.client.ResourceV1()
	for _, one := range g.Devices.Slices {
		if err := c.ResourceSlices().Delete(ctx, one.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	for _, one := range g.Devices.Rules {
		if err := c.DeviceTaintRules().Delete(ctx, one.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	for _, one := range g.Devices.Classes {
		if err := c.DeviceClasses().Delete(ctx, one.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// allocated is how many claims have devices.
func (g *game) allocated(ctx context.Context) (n int, err error) {
	claims, err := g.client.ResourceV1().ResourceClaims(g.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range claims.Items {
		if claims.Items[i].Status.Allocation != nil {
			n++
		}
	}
	return n, nil
}

// reader reads claims as the loop does, from the objects of one moment.
type reader struct {
	intake.Claims
	state     *dra.State
	templates map[string]*resourcev1.ResourceClaimTemplate
	claims    map[string]*resourcev1.ResourceClaim
	classes   map[string]*resourcev1.DeviceClass
	extended  map[string]string // resource → class
}

func (g *game) reader(ctx context.Context) (*reader, error) {
	r := &reader{
		state: dra.New(), templates: map[string]*resourcev1.ResourceClaimTemplate{},
		claims: map[string]*resourcev1.ResourceClaim{}, classes: map[string]*resourcev1.DeviceClass{},
	}
	r.Claims = intake.Claims{
		Template: func(_, name string) *resourcev1.ResourceClaimTemplate { return r.templates[name] },
		Claim:    func(_, name string) *resourcev1.ResourceClaim { return r.claims[name] },
		Class:    func(name string) *resourcev1.DeviceClass { return r.classes[name] },
		Extended: func(name string) *resourcev1.DeviceClass { return r.classes[r.extended[name]] },
		Name:     dra.Row,
		Most:     r.state.Most,
		Row: func(specs []resourcev1.ResourceClaimSpec) (string, int64, string) {
			name, units := r.state.Want(specs)
			return name, units, r.state.Problem(name)
		},
	}
	c := g.client.ResourceV1()
	classes, err := c.DeviceClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range classes.Items {
		r.classes[classes.Items[i].Name] = &classes.Items[i]
		r.state.SetClass(&classes.Items[i])
	}
	r.extended = intake.ExtendedBy(r.classes, true)
	slices, err := c.ResourceSlices().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range slices.Items {
		r.state.SetSlice(&slices.Items[i])
	}
	rules, err := c.DeviceTaintRules().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range rules.Items {
		r.state.SetTaintRule(&rules.Items[i])
	}
	return r, r.readClaims(ctx, g)
}

func (r *reader) readClaims(ctx context.Context, g *game) error {
	templates, err := g.client.ResourceV1().ResourceClaimTemplates(g.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range templates.Items {
		r.templates[templates.Items[i].Name] = &templates.Items[i]
	}
	claims, err := g.client.ResourceV1().ResourceClaims(g.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range claims.Items {
		r.claims[claims.Items[i].Name] = &claims.Items[i]
		r.state.SetClaim(&claims.Items[i])
	}
	return nil
}

// pod reads the claims of a pod.
func (r *reader) pod(read *supply.Pod, pod *corev1.Pod) {
	if len(pod.Spec.ResourceClaims) == 0 && pod.Status.ExtendedResourceClaimStatus == nil {
		return
	}
	specs := r.OfPod(read, pod)
	if read.Node != "" {
		r.state.SetPod(dra.Pod{UID: pod.UID, Node: read.Node, Claims: specs})
	}
}

// tell brings the rows into a book.
func (r *reader) tell(b *book.Book) {
	rows := map[string]string{}
	for resource, class := range r.extended {
		rows[resource] = r.state.WantAny(class)
	}
	b.SetExtended(rows)
	for _, rows := range r.state.Changed() {
		b.SetDevices(rows)
	}
	if costs, changed := r.state.Costs(); changed {
		b.SetCosts(costs)
	}
}
