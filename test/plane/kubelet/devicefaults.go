package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// BumpPool has the driver of a node announce its devices anew, by the next
// generation and in two halves: until the function that it returns has announced
// the rest, the pool is incomplete and gives nothing. What runs goes on.
func (f *Fleet) BumpPool(ctx context.Context, node string) (rest func(context.Context) error, err error) {
	f.mu.Lock()
	generation := int64(0)
	if n, ok := f.nodes[node]; ok {
		generation = n.announced.generation + 1
	}
	f.mu.Unlock()
	return f.announceAgain(ctx, node, generation)
}

// ResetPool is BumpPool for a driver that was taken off the node and put there
// again: what it had announced is wiped, and it begins with the first generation.
func (f *Fleet) ResetPool(ctx context.Context, node string) (rest func(context.Context) error, err error) {
	return f.announceAgain(ctx, node, firstGeneration)
}

func (f *Fleet) announceAgain(ctx context.Context, node string, generation int64) (func(context.Context) error, error) {
	f.mu.Lock()
	n, ok := f.nodes[node]
	if !ok || len(n.table.pool.devices) < 2 {
		f.mu.Unlock()
		return nil, fmt.Errorf("node %s has no two devices to announce in halves. Try: a node with Devices of two cards", node)
	}
	n.table.pool.perSlice = (min(len(n.table.pool.devices), maxDevices) + 1) / 2
	all := n.table.pool.slices(node, n.uid, generation)
	old := n.announced
	f.mu.Unlock()
	reset := generation <= old.generation
	if reset {
		if err := f.wipe(ctx, old.names); err != nil {
			return nil, err
		}
	}
	half := len(all) / 2
	names, err := f.announce(ctx, node, all[:half])
	f.announcedNow(node, published{names, generation})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		more, err := f.announce(ctx, node, all[half:])
		f.announcedNow(node, published{append(names, more...), generation})
		if err != nil || reset {
			return err
		}
		return f.wipe(ctx, old.names)
	}, nil
}

func (f *Fleet) announcedNow(node string, what published) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, ok := f.nodes[node]; ok {
		n.announced = what
	}
}

func (f *Fleet) wipe(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := f.client.ResourceV1().ResourceSlices().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("wiping what was announced: %w", err)
		}
	}
	return nil
}

// TaintDevice has the driver of a node say that a device is not as it should be,
// until the function that it returns is called. What the taint does to those who
// have the device is up to the controller manager.
func (f *Fleet) TaintDevice(ctx context.Context, node, device string, taint resourcev1.DeviceTaint) (untaint func(context.Context) error, err error) {
	same := func(t resourcev1.DeviceTaint) bool { return t.Key == taint.Key && t.Effect == taint.Effect }
	if err := f.changeDevice(ctx, node, device, func(d *resourcev1.Device, _ map[string]bool) { d.Taints = append(d.Taints, taint) }); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return f.changeDevice(ctx, node, device, func(d *resourcev1.Device, _ map[string]bool) { d.Taints = slices.DeleteFunc(d.Taints, same) })
	}, nil
}

// TaintDeviceByRule is TaintDevice by somebody who is not the driver: an admin
// writes a DeviceTaintRule.
func (f *Fleet) TaintDeviceByRule(ctx context.Context, node, device string, taint resourcev1.DeviceTaint) (untaint func(context.Context) error, err error) {
	driver, rules := DeviceDriver, f.client.ResourceV1().DeviceTaintRules()
	made, err := rules.Create(ctx, &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{GenerateName: node + "-" + device + "-"},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: &driver, Pool: &node, Device: &device}, Taint: taint,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("tainting device %s of node %s: %w", device, node, err)
	}
	return func(ctx context.Context) error { return rules.Delete(ctx, made.Name, metav1.DeleteOptions{}) }, nil
}

// LoseDevice has a device fall off the bus: its driver announces it no more, and
// no pod starts with it, whoever's claim names it. What runs goes on and keeps what
// it has of the card. The function that it returns brings the device back.
func (f *Fleet) LoseDevice(ctx context.Context, node, device string) (back func(context.Context) error, err error) {
	if err := f.changeDevice(ctx, node, device, func(d *resourcev1.Device, lost map[string]bool) { lost[d.Name] = true }); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return f.changeDevice(ctx, node, device, func(d *resourcev1.Device, lost map[string]bool) { delete(lost, d.Name) })
	}, nil
}

// changeDevice changes a device of a node and has its driver announce that, within
// the generation, as drivers do where only devices differ.
func (f *Fleet) changeDevice(ctx context.Context, node, device string, change func(d *resourcev1.Device, lost map[string]bool)) error {
	f.mu.Lock()
	n, ok := f.nodes[node]
	if !ok {
		f.mu.Unlock()
		return fmt.Errorf("the fake kubelet has no node %q", node)
	}
	pool := &n.table.pool
	i := slices.IndexFunc(pool.devices, func(d resourcev1.Device) bool { return d.Name == device })
	if i < 0 {
		f.mu.Unlock()
		return fmt.Errorf("node %s has no device %q. Try: gpu-0", node, device)
	}
	pool.devices[i] = *pool.devices[i].DeepCopy() // what was announced may be on its way
	change(&pool.devices[i], pool.lost)
	names, all := n.announced.names, pool.slices(node, n.uid, n.announced.generation)
	f.mu.Unlock()
	var failed error
	for i, name := range names {
		failed = errors.Join(failed, f.announceDevices(ctx, name, all[i].Spec.Devices))
	}
	return failed
}

func (f *Fleet) announceDevices(ctx context.Context, name string, devices []resourcev1.Device) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		slice, err := f.client.ResourceV1().ResourceSlices().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading what was announced: %w", err)
		}
		slice.Spec.Devices = devices
		_, err = f.client.ResourceV1().ResourceSlices().Update(ctx, slice, metav1.UpdateOptions{})
		return err
	})
}
