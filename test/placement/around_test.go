//go:build plane

package placement_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/intake"
)

// around is what there is of a cluster around its pods, and that changes what they ask
// for or where they may run.
type around struct {
	Volumes      []*corev1.PersistentVolume
	Claims       []*corev1.PersistentVolumeClaim
	LimitRange   *corev1.LimitRange // nil: none
	RuntimeClass *nodev1.RuntimeClass
}

// lastClaim is named by pods, and nobody makes it.
const lastClaim = "missing"

// drawAround gives pods volumes, a class of runtimes and needs of features, and the
// namespace a LimitRange.
func (d dice) drawAround(c *drawn) {
	a := &c.Around
	for i := range d.from(1, 3) {
		d.drawVolume(a, fmt.Sprintf("c%d-v%d", c.Seed, i), c.Nodes)
	}
	if d.chance(50) {
		a.LimitRange = d.limitRange()
	}
	if d.chance(50) {
		a.RuntimeClass = d.runtimeClass(fmt.Sprintf("c%d-sandbox", c.Seed))
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if d.chance(70) {
			n.Labels = maps.Clone(n.Labels)
			n.Labels[corev1.LabelTopologyZone] = n.Labels["zone"]
		}
		if d.chance(70) {
			n.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"}
		}
	}
	for i := range c.Strangers {
		if d.chance(25) {
			d.surround(a, &c.Strangers[i].Spec)
		}
	}
	for _, job := range c.Jobs {
		d.surround(a, &job.Spec.Template.Spec)
	}
}

// drawVolume is a claim, and mostly a volume that it is bound to.
func (d dice) drawVolume(a *around, name string, nodes []machine) {
	mode := corev1.ReadWriteMany
	if d.chance(12) {
		mode = corev1.ReadWriteOncePod
	}
	size, none := corev1.ResourceList{"storage": resource.MustParse("1Gi")}, ""
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{mode}, StorageClassName: &none, Resources: corev1.VolumeResourceRequirements{Requests: size},
	}}
	a.Claims = append(a.Claims, claim)
	if d.chance(3) {
		return
	}
	claim.Spec.VolumeName = name
	if !d.chance(3) {
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: claim.Spec.AccessModes,
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: name}},
	}}
	if !d.chance(3) {
		a.Volumes = append(a.Volumes, volume)
	}
	if d.chance(20) {
		volume.Labels = map[string]string{pick(d, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone): pick(d, "a", "b", "a__b")}
	}
	if d.chance(70) {
		var terms []corev1.NodeSelectorTerm
		for range d.from(1, 3) {
			terms = append(terms, d.volumeTerm(nodes))
		}
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
}

func (d dice) volumeTerm(nodes []machine) corev1.NodeSelectorTerm {
	in := func(key string, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}
	}
	switch d.IntN(8) {
	case 0:
		return in("rank", "1", "3")
	case 1:
		return in(corev1.LabelHostname, nodes[d.IntN(len(nodes))].Name)
	case 2: // volumes do not know nodes by their names
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{nodes[d.IntN(len(nodes))].Name}},
		}}
	}
	return in("zone", pick(d, "a", "b"))
}

// limitRange fills in amounts that no pod of ours contradicts.
func (d dice) limitRange() *corev1.LimitRange {
	item := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"memory": resource.MustParse(fmt.Sprintf("%dMi", 256*d.from(1, 8)))}}
	if d.chance(50) {
		item.Default = corev1.ResourceList{"cpu": resource.MustParse("3"), "memory": resource.MustParse("5Gi")}
	}
	return &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "defaults"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}
}

func (d dice) runtimeClass(name string) *nodev1.RuntimeClass {
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: "sandbox"}
	if d.chance(70) {
		class.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("700Mi")}}
	}
	if d.chance(50) {
		class.Scheduling = &nodev1.Scheduling{Tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}}
		if d.chance(50) {
			class.Scheduling.NodeSelector = map[string]string{"rank": pick(d, "1", "2")}
		}
	}
	return class
}

// surround gives a pod some of what there is.
func (d dice) surround(a *around, spec *corev1.PodSpec) {
	names := map[string]bool{}
	for _, claim := range a.Claims {
		names[claim.Name] = d.chance(25)
	}
	names[lastClaim] = d.chance(2)
	for i, name := range append(claimNames(a), lastClaim) {
		if names[name] {
			spec.Volumes = append(spec.Volumes, corev1.Volume{Name: fmt.Sprintf("v%d", i), VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			}})
		}
	}
	if a.RuntimeClass != nil && d.chance(40) {
		spec.RuntimeClassName = &a.RuntimeClass.Name
	}
	if d.chance(5) {
		never := corev1.ContainerRestartPolicyNever
		c := &spec.Containers[0]
		c.RestartPolicy = &never
		c.RestartPolicyRules = []corev1.ContainerRestartRule{{
			Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}}
	}
}

func claimNames(a *around) []string {
	var names []string
	for _, claim := range a.Claims {
		names = append(names, claim.Name)
	}
	return names
}

// createAround makes it, and waits until new pods get the defaults.
func (g *game) createAround(ctx context.Context) error {
	a, core := &g.Around, g.client.CoreV1()
	free := []byte(`{"metadata":{"finalizers":null}}`) // nobody here takes them away again
	for _, v := range a.Volumes {
		if _, err := core.PersistentVolumes().Create(ctx, v, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("making volume %s: %w", v.Name, err)
		}
		if _, err := core.PersistentVolumes().Patch(ctx, v.Name, types.MergePatchType, free, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	for _, c := range a.Claims {
		if _, err := core.PersistentVolumeClaims(g.ns).Create(ctx, c, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("making volume claim %s: %w", c.Name, err)
		}
		if _, err := core.PersistentVolumeClaims(g.ns).Patch(ctx, c.Name, types.MergePatchType, free, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	if a.RuntimeClass != nil {
		if _, err := g.client.NodeV1().RuntimeClasses().Create(ctx, a.RuntimeClass, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if a.LimitRange == nil {
		return nil
	}
	if _, err := core.LimitRanges(g.ns).Create(ctx, a.LimitRange, metav1.CreateOptions{}); err != nil {
		return err
	}
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bare"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "pretended"}}}}
	return until(ctx, "pods get the defaults of the LimitRange", func() (bool, error) {
		made, err := core.Pods(g.ns).Create(ctx, bare, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(made.Spec.Containers[0].Resources.Requests) > 0, err
	})
}

// removeAround takes away what is of no namespace.
func (g *game) removeAround(ctx context.Context) error {
	var errs []error
	for _, v := range g.Around.Volumes {
		errs = append(errs, g.client.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{}))
	}
	if class := g.Around.RuntimeClass; class != nil {
		errs = append(errs, g.client.NodeV1().RuntimeClasses().Delete(ctx, class.Name, metav1.DeleteOptions{}))
	}
	for i, err := range errs {
		if apierrors.IsNotFound(err) { // it was not made
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

// env is what Jobs are read by.
func (g *game) env(r *reader, pods []corev1.Pod) intake.Env {
	a := &g.Around
	env := intake.Env{
		PriorityClass: priority, Claims: r.OfJob, Mounted: func(job *batchv1.Job) intake.Mounted {
			look := g.volumes(pods)
			return look.OfJob(job)
		},
		RuntimeClass: func(name string) *nodev1.RuntimeClass {
			if a.RuntimeClass != nil && a.RuntimeClass.Name == name {
				return a.RuntimeClass
			}
			return nil
		},
	}
	if a.LimitRange != nil {
		env.LimitRanges = []*corev1.LimitRange{a.LimitRange}
	}
	return env
}

func (g *game) volumes(pods []corev1.Pod) intake.Volumes {
	return intake.Volumes{
		Claim: func(_, name string) *corev1.PersistentVolumeClaim { return g.claim(name) },
		Volume: func(name string) *corev1.PersistentVolume {
			for _, v := range g.Around.Volumes {
				if v.Name == name {
					return v
				}
			}
			return nil
		},
		Class: func(string) *storagev1.StorageClass { return nil },
		User: func(_, name string) string { // nobody asks who has pods
			for i := range pods {
				live := pods[i].Spec.NodeName != "" && intake.Pod(&pods[i], nil) != nil
				if live && pods[i].Namespace == g.ns && has(&pods[i].Spec, name) {
					return pods[i].Name
				}
			}
			return ""
		},
	}
}

func (g *game) claim(name string) *corev1.PersistentVolumeClaim {
	for _, c := range g.Around.Claims {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func has(spec *corev1.PodSpec, claim string) bool {
	return slices.Contains(intake.ClaimsOf(spec), claim)
}

func names(spec *corev1.PodSpec, claim string) bool {
	return slices.ContainsFunc(spec.ResourceClaims, func(c corev1.PodResourceClaim) bool {
		return c.ResourceClaimName != nil && *c.ResourceClaimName == claim
	})
}

// excluded: one that was let go by the same plan has a claim for one pod, or a claim for
// devices that both name, as the loop sees to by reading the Job again.
func (g *game) excluded(job *batchv1.Job, before []string) bool {
	for _, one := range job.Spec.Template.Spec.ResourceClaims {
		for _, other := range before {
			if one.ResourceClaimName != nil && names(&g.job(other).Spec.Template.Spec, *one.ResourceClaimName) {
				return true
			}
		}
	}
	for _, name := range intake.ClaimsOf(&job.Spec.Template.Spec) {
		for _, other := range before {
			if intake.AtOnePod(g.claim(name)) && has(&g.job(other).Spec.Template.Spec, name) {
				return true
			}
		}
	}
	return false
}
