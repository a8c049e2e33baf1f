package main

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The API server shares itself out by who asks. An administrator goes before everybody
// else; users who create Jobs do not, nor does the Job controller.
const (
	userName       = "scale-user"
	lifterName     = "scale-lifter"
	controllerName = "system:serviceaccount:kube-system:job-controller"
)

// identities are clients of those whom this program plays in a namespace, with the
// rights they have in a cluster.
type identities struct {
	user, lifter, controller kubernetes.Interface
}

func newIdentities(ctx context.Context, admin *rest.Config, namespace string) (ids identities, err error) {
	root, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return ids, err
	}
	for name, rules := range map[string][]rbacv1.PolicyRule{
		userName:   {{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"create"}}},
		lifterName: {{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"patch"}}},
		controllerName: {
			{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"batch"}, Resources: []string{"jobs/status"}, Verbs: []string{"update"}},
		},
	} {
		if err := allow(ctx, root, namespace, name, rules); err != nil {
			return ids, fmt.Errorf("giving %s its rights: %w", name, err)
		}
	}
	if ids.user, err = as(admin, userName); err != nil {
		return ids, err
	}
	if ids.lifter, err = as(admin, lifterName); err != nil {
		return ids, err
	}
	ids.controller, err = as(admin, controllerName, "system:serviceaccounts", "system:serviceaccounts:kube-system")
	return ids, err
}

func allow(ctx context.Context, root *kubernetes.Clientset, namespace, name string, rules []rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: "scale:" + name, Namespace: namespace}
	if _, err := root.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := root.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}, metav1.CreateOptions{})
	return err
}

// as is a client that speaks for somebody else.
func as(admin *rest.Config, name string, groups ...string) (*kubernetes.Clientset, error) {
	config := rest.CopyConfig(admin)
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	return kubernetes.NewForConfig(config)
}
