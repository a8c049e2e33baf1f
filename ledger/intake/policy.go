package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// workload is what policies see of the Job. It has nothing in it that the
// ledger or a running pod changes: not the ledger's own keys, and the count is
// what the Job was made for, not what is left of it. So a verdict stays the
// same while the Job runs, also with fewer pods than it asks for, and the webhook
// sees what the ledger sees.
func workload(job *batchv1.Job, set demand.PodSet, at demand.Arrival, env Env) *policies.Workload {
	count := peak(job)
	least := least(job, count)
	className := job.Spec.Template.Spec.PriorityClassName
	w := &policies.Workload{
		UID: string(job.UID), Name: job.Name, Namespace: job.Namespace, Kind: "Job",
		Labels:      without(job.Labels, LedgerLabel),
		Annotations: without(job.Annotations, LedgerAnnotation),
		Queue:       job.Labels[policies.LabelQueue],
		User:        user(job),
		ArrivalNS:   at.Effective,
		CreatedNS:   nanoseconds(job.CreationTimestamp),
		PodSets: []policies.PodSet{{
			Name: set.Name, Count: count, MinCount: least, Requests: perPod(&set),
			NodeSelector: set.Place.NodeSelector, Tolerations: set.Place.Tolerations,
			PriorityClass: className,
		}},
		Total:         total(&set, count),
		PriorityClass: className,
		Generation:    job.Generation,
	}
	if class := env.priorityClass(className); class != nil {
		w.PriorityClassVal = int64(class.Value)
	}
	if deadline := job.Spec.ActiveDeadlineSeconds; deadline != nil {
		w.ActiveDeadlineSec = *deadline
	}
	if owner := metav1.GetControllerOfNoCopy(job); owner != nil {
		w.Owner = &policies.Owner{Kind: owner.Kind, Name: owner.Name}
	}
	return w
}

// user is who created the Job. The Jobs of a CronJob are made by its
// controller, for all users alike, so they are accounted to the CronJob; only
// if it was that controller, for anybody can write an owner into a Job.
func user(job *batchv1.Job) string {
	name := job.Annotations[policies.AnnotationUser]
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil || owner.Kind != "CronJob" || !slices.Contains(cronControllers(), name) {
		return name
	}
	return "cronjob:" + job.Namespace + "/" + owner.Name
}

// cronControllers are the names of the CronJob controller: its own service
// account, or the controller manager's where it has none.
func cronControllers() []string {
	return []string{"system:serviceaccount:kube-system:cronjob-controller", "system:kube-controller-manager"}
}

// digest of everything classify may read. The generation stands for the raw
// spec, which policies may read too.
func digest(w *policies.Workload) string {
	data, err := json.Marshal(w) // maps come out sorted
	if err != nil {
		return "" // plain data always marshals; empty means: ask again
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// RawJob is the Job as input.job of a policy: without status, managedFields and
// the ledger's own keys, so that it changes only when its owner changes it, and
// with the scheduling fields that the user wrote.
func RawJob(job *batchv1.Job) (map[string]any, error) {
	bare := *job
	bare.Status = batchv1.JobStatus{}
	bare.ManagedFields = nil
	bare.ResourceVersion = ""
	bare.Labels = without(job.Labels, LedgerLabel)
	bare.Annotations = without(job.Annotations, LedgerAnnotation)
	bare.Spec.Suspend, bare.Spec.Parallelism = nil, ownParallelism(job)
	bare.Spec.Template.Labels = without(job.Spec.Template.Labels, func(key string) bool { return key == policies.LabelQueue })
	bare.Spec.Template.Annotations = without(job.Spec.Template.Annotations, LedgerAnnotation)
	bare.Spec.Template.Spec = ownSpec(job)
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&bare)
	if err != nil {
		return nil, err
	}
	delete(raw, "status")
	return raw, nil
}
