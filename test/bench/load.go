package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdshort/holdshort/test/stories"
)

// Limits of a pass.
const (
	creators    = 8
	completers  = 8
	passTimeout = 10 * time.Minute
)

// load creates the Jobs as fast as the API server takes them and completes each
// when it is lifted; it returns what was measured.
func load(ctx context.Context, env *stories.Env, namespace string, jobs int, queuePrefix string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	config := rest.CopyConfig(env.Admin)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return result{}, err
	}
	p := &pass{client: client, namespace: namespace, created: make(map[string]time.Time, jobs)}
	lifted := make(chan *batchv1.Job, jobs)
	if err := watchLifted(ctx, client, namespace, lifted); err != nil {
		return result{}, err
	}
	started := time.Now()
	errs := make(chan error, creators+completers)
	var completed sync.WaitGroup
	completed.Add(jobs)
	for range completers {
		go func() { errs <- p.complete(ctx, lifted, &completed) }()
	}
	names := make(chan int, jobs)
	for i := range jobs {
		names <- i
	}
	close(names)
	for range creators {
		go func() { errs <- p.create(ctx, names, queuePrefix) }()
	}
	done := make(chan struct{})
	go func() { completed.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return p.result(time.Since(started)), nil
		case err := <-errs:
			if err != nil {
				return result{}, err
			}
		case <-ctx.Done():
			return result{}, fmt.Errorf("not done after %v", passTimeout)
		}
	}
}

// pass is what one pass measures.
type pass struct {
	client    kubernetes.Interface
	namespace string
	mu        sync.Mutex
	created   map[string]time.Time // when the API server had answered
	waits     []time.Duration
}

func (p *pass) create(ctx context.Context, names <-chan int, queuePrefix string) error {
	for i := range names {
		job := newJob(i, queuePrefix)
		if _, err := p.client.BatchV1().Jobs(p.namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating %s: %w", job.Name, err)
		}
		p.mu.Lock()
		p.created[job.Name] = time.Now()
		p.mu.Unlock()
	}
	return nil
}

// complete plays the end of a Job, in the one status write that the Job
// controller would make.
func (p *pass) complete(ctx context.Context, lifted <-chan *batchv1.Job, completed *sync.WaitGroup) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case job := <-lifted:
			p.saw(job.Name)
			_, err := p.client.BatchV1().Jobs(p.namespace).Patch(ctx, job.Name, types.MergePatchType, completion(), metav1.PatchOptions{}, "status")
			if err != nil {
				return fmt.Errorf("completing %s: %w", job.Name, err)
			}
			completed.Done()
		}
	}
}

// saw records how long a Job waited; one seen before its creation was answered
// did not wait at all.
func (p *pass) saw(name string) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := time.Duration(0)
	if created, ok := p.created[name]; ok {
		wait = now.Sub(created)
	}
	p.waits = append(p.waits, wait)
}

func completion() []byte {
	now := time.Now().UTC().Format(time.RFC3339)
	return fmt.Appendf(nil, `{"status":{"startTime":%q,"completionTime":%q,"succeeded":1,"conditions":[`+
		`{"type":"SuccessCriteriaMet","status":"True","reason":"CompletionsReached","lastTransitionTime":%q},`+
		`{"type":"Complete","status":"True","reason":"CompletionsReached","lastTransitionTime":%q}]}}`, now, now, now, now)
}

// newJob is a Job of one pod with one GPU; queuePrefix empty: for the baseline.
func newJob(i int, queuePrefix string) *batchv1.Job {
	suspend := true
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("job-%d", i)}}
	job.Spec.Suspend = &suspend
	if queuePrefix != "" {
		job.Labels = map[string]string{"holdshort.dev/queue": fmt.Sprintf("%s%d", queuePrefix, i%queues)}
	}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")},
			Limits:   corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
		}}},
	}
	return job
}
