package intake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
)

// volumeWorld has one claim, volume and class each; empty: it is not there.
type volumeWorld struct{ claim, volume, class, user string }

func (w volumeWorld) env(t *testing.T) intake.Env {
	v := intake.Volumes{
		Claim: func(namespace, name string) *corev1.PersistentVolumeClaim {
			if claim := parse[corev1.PersistentVolumeClaim](t, w.claim); namespace == "research" && claim.Name == name {
				return claim
			}
			return nil
		},
		Volume: func(name string) *corev1.PersistentVolume {
			if volume := parse[corev1.PersistentVolume](t, w.volume); volume.Name == name {
				return volume
			}
			return nil
		},
		Class: func(name string) *storagev1.StorageClass {
			if class := parse[storagev1.StorageClass](t, w.class); class.Name == name {
				return class
			}
			return nil
		},
		User: func(string, string) string { return w.user },
	}
	return intake.Env{Mounted: v.OfJob}
}

const (
	boundClaim = `{metadata: {name: d, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: pv}, status: {phase: Bound}}`
	inZoneA    = `{metadata: {name: pv}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}}`
	onDemand   = `{metadata: {name: fast}, provisioner: csi.example.com, volumeBindingMode: WaitForFirstConsumer`
	mountsD    = `{containers: [{name: a}], volumes: [{name: data, persistentVolumeClaim: {claimName: d}}]}`
	scratch    = `{containers: [{name: a}], volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}]}`
)

func in(key string, values ...string) demand.NodeRequirement {
	return demand.NodeRequirement{Key: key, Operator: "In", Values: values}
}

func pin(name, is string, terms ...demand.NodeTerm) []demand.Pin {
	return []demand.Pin{{Name: name, Is: is, Terms: append([]demand.NodeTerm{}, terms...)}}
}

func byLabel(r ...demand.NodeRequirement) demand.NodeTerm { return demand.NodeTerm{Labels: r} }

func TestAVolumeTiesItsPodsToWhereItIs(t *testing.T) {
	missing := func(key string) demand.NodeRequirement {
		return demand.NodeRequirement{Key: key, Operator: "DoesNotExist"}
	}
	nowhere := byLabel(missing(corev1.LabelFailureDomainBetaZone), missing(corev1.LabelFailureDomainBetaRegion), missing(corev1.LabelTopologyZone), missing(corev1.LabelTopologyRegion))
	for _, c := range []struct {
		name       string
		world      volumeWorld
		spec       string
		pins       []demand.Pin
		unverified []string
	}{
		{name: "by its node affinity", world: volumeWorld{claim: boundClaim, volume: inZoneA}, spec: mountsD,
			pins: pin("volume claim d", "bound to a volume of zone=a", byLabel(in("zone", "a")))},
		{name: "nowhere, if it has none", world: volumeWorld{claim: boundClaim, volume: `{metadata: {name: pv}}`}, spec: mountsD},
		{name: "anywhere, if one of its terms only names nodes, which the scheduler passes over there",
			world: volumeWorld{claim: boundClaim, volume: `{metadata: {name: pv}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [
  {matchExpressions: [{key: zone, operator: In, values: [a]}]}, {matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}}`}, spec: mountsD},
		{name: "by the labels of a term, if it names nodes, too",
			world: volumeWorld{claim: boundClaim, volume: `{metadata: {name: pv}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [
  {matchExpressions: [{key: zone, operator: In, values: [a]}], matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}}`}, spec: mountsD,
			pins: pin("volume claim d", "bound to a volume of zone=a", byLabel(in("zone", "a")))},
		{name: "nowhere that there is, if it has no terms that can be met",
			world: volumeWorld{claim: boundClaim, volume: `{metadata: {name: pv}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [{}]}}}}`}, spec: mountsD,
			pins: pin("volume claim d", "bound to a volume of no node")},
		{name: "by the label of a zone, several of them, or where nodes have none",
			world: volumeWorld{claim: boundClaim, volume: `{metadata: {name: pv, labels: {topology.kubernetes.io/zone: a__b}}}`}, spec: mountsD,
			pins: pin("volume claim d", "bound to a volume of topology.kubernetes.io/zone In (a,b)", byLabel(in(corev1.LabelTopologyZone, "a", "b")), nowhere)},
		{name: "by the older label, that nodes may have by its newer name",
			world: volumeWorld{claim: boundClaim, volume: `{metadata: {name: pv, labels: {failure-domain.beta.kubernetes.io/zone: a}}}`}, spec: mountsD,
			pins: pin("volume claim d", "bound to a volume of failure-domain.beta.kubernetes.io/zone=a", byLabel(in(corev1.LabelFailureDomainBetaZone, "a")), nowhere,
				byLabel(missing(corev1.LabelFailureDomainBetaZone), in(corev1.LabelTopologyZone, "a")))},
		{name: "to where its class allows, if it is made once there is a pod",
			world: volumeWorld{claim: `{metadata: {name: d}, spec: {storageClassName: fast}}`,
				class: onDemand + `, allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, b]}]}]}`}, spec: mountsD,
			pins: pin("volume claim d", "to get a volume of zone In (a,b)", byLabel(in("zone", "a", "b"))), unverified: []string{"volume data"}},
		{name: "to the node that it is being made for",
			world: volumeWorld{claim: `{metadata: {name: d, annotations: {volume.kubernetes.io/selected-node: n1}}, spec: {storageClassName: fast}}`, class: onDemand + `}`}, spec: mountsD,
			pins: pin("volume claim d", "getting a volume for node n1", demand.NodeTerm{Fields: []demand.NodeRequirement{in("metadata.name", "n1")}}), unverified: []string{"volume data"}},
		{name: "nobody knows where, if volumes of its class are there already",
			world: volumeWorld{claim: `{metadata: {name: d}, spec: {storageClassName: fast}}`,
				class: `{metadata: {name: fast}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]}`},
			spec: mountsD, unverified: []string{"volume data"}},
		{name: "nobody knows where, if each pod gets its own", world: volumeWorld{class: onDemand + `}`}, spec: scratch, unverified: []string{"volume tmp"}},
		{name: "nor, if others on a node may have the disk", spec: `{containers: [{name: a}], volumes: [{name: disk, iscsi: {targetPortal: a, iqn: b, lun: 0}}]}`, unverified: []string{"volume disk"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := intake.Job(jobOf(t, c.spec), c.world.env(t))
			if got.Problem != nil {
				t.Fatal(got.Problem.Message)
			}
			if diff := cmp.Diff(c.pins, got.PodSets[0].Place.Pins); diff != "" {
				t.Errorf("tied to (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.unverified, got.PodSets[0].Place.Unverified); diff != "" {
				t.Errorf("unverified (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAVolumeThatIsNotToBeHadIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		name  string
		world volumeWorld
		spec  string
		pods  int32
		code  reason.Code
		says  string
	}{
		{"no claim", volumeWorld{}, mountsD, 1, reason.WaitingForVolumes, "volume claim research/d: not found"},
		{"being deleted", volumeWorld{claim: `{metadata: {name: d, deletionTimestamp: "2026-01-01T00:00:00Z"}}`}, mountsD, 1, reason.WaitingForVolumes, "being deleted"},
		{"lost", volumeWorld{claim: `{metadata: {name: d}, spec: {volumeName: pv}, status: {phase: Lost}}`}, mountsD, 1, reason.WaitingForVolumes, "lost: the volume pv"},
		{"its volume is gone", volumeWorld{claim: boundClaim}, mountsD, 1, reason.WaitingForVolumes, "bound to volume pv, which is not there"},
		{"half bound", volumeWorld{claim: `{metadata: {name: d}, spec: {volumeName: pv}}`, volume: inZoneA}, mountsD, 1, reason.WaitingForVolumes, "not bound to volume pv yet"},
		{"of no class", volumeWorld{claim: `{metadata: {name: d}}`}, mountsD, 1, reason.WaitingForVolumes, "not bound to a volume yet"},
		{"to be bound at once", volumeWorld{claim: `{metadata: {name: d}, spec: {storageClassName: fast}}`, class: `{metadata: {name: fast}, volumeBindingMode: Immediate}`},
			mountsD, 1, reason.WaitingForVolumes, "not bound to a volume yet"},
		{"of a class that is missing", volumeWorld{claim: `{metadata: {name: d, annotations: {volume.beta.kubernetes.io/storage-class: slow}}, spec: {storageClassName: fast}}`},
			mountsD, 1, reason.WaitingForVolumes, "StorageClass slow not found"},
		{"for each pod, of a class that is missing", volumeWorld{}, scratch, 1, reason.WaitingForVolumes, "StorageClass fast not found"},
		{"in use", volumeWorld{claim: `{metadata: {name: d}, spec: {accessModes: [ReadWriteOncePod]}}`, user: "pod research/x"}, mountsD, 1, reason.WaitingForVolumes, "in use by pod research/x"},
		{"for one pod, of a Job with more", volumeWorld{claim: `{metadata: {name: d}, spec: {accessModes: [ReadWriteOncePod]}}`}, mountsD, 2, reason.BadRequest, "one pod at a time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := jobOf(t, c.spec)
			job.Spec.Parallelism = &c.pods
			got := intake.Job(job, c.world.env(t))
			if got.Problem == nil || got.Problem.Code != c.code {
				t.Fatalf("problem %v, want %s", got.Problem, c.code)
			}
			wantSays(t, got.Problem.Message, c.says)
		})
	}
}

func TestAPodNeedsNodesThatDeclareWhatItUses(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"nothing of the kind": {"{containers: [{name: a, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]}]}", nil},
		"restarts of the whole pod": {"{containers: [{name: a, restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [1]}}]}]}",
			[]string{"RestartAllContainersOnContainerExits"}},
		"users of its own on the host's network": {"{hostNetwork: true, hostUsers: false, containers: [{name: a}]}", []string{"UserNamespacesHostNetworkSupport"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, intake.Job(jobOf(t, c.spec), intake.Env{}).PodSets[0].Place.Features); diff != "" {
				t.Errorf("features (-want +got):\n%s", diff)
			}
		})
	}
}
