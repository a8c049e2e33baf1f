package intake_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

func BenchmarkPodBound(b *testing.B) {
	pod := parse[corev1.Pod](b, `
metadata:
  uid: p1
  namespace: research
  name: train-0
  labels: {holdshort.dev/queue: research}
  annotations: {holdshort.dev/flavors: '{"cpu":"gpu","memory":"gpu","nvidia.com/gpu":"gpu"}'}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: u1, controller: true}]
spec: {nodeName: n1, containers: [{name: a, resources: {requests: {cpu: 2, memory: 8Gi, nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Running, conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "True"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		intake.Pod(pod, nil)
	}
}

func BenchmarkJobQueued(b *testing.B) {
	job := parse[batchv1.Job](b, wholeJob)
	env := benchEnv(b)
	b.ReportAllocs()
	for b.Loop() {
		intake.Job(job, env)
	}
}

func BenchmarkJobAdmitted(b *testing.B) {
	job := parse[batchv1.Job](b, wholeJob)
	job.Annotations[policies.AnnotationReservation] = `{"uid":"u1","queue":"research","podSets":[{"name":"main","count":3,"requests":{"nvidia.com/gpu":1,"cpu":2000,"pods":1},"flavors":{"nvidia.com/gpu":"h100","cpu":"h100"}}],"revision":"abc","time":7}`
	job.Annotations[policies.AnnotationInjected] = `{"uid":"u1","nodeSelector":{"gpu":"h100"},"tolerations":[{"key":"own","operator":"Exists"}]}`
	env := benchEnv(b)
	b.ReportAllocs()
	for b.Loop() {
		intake.Job(job, env)
	}
}

func benchEnv(b *testing.B) intake.Env {
	env := policyEnv(b)
	class := env.PriorityClass("gold")
	env.PriorityClass = schedulingLookup(class)
	return env
}
