package history

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const auditLog = `{"verb":"patch","requestURI":"/apis/batch/v1/namespaces/ns/jobs/a","user":{"username":"us"},"objectRef":{"resource":"jobs","namespace":"ns","name":"a","apiGroup":"batch"},"responseStatus":{"code":200}}
{"verb":"patch","requestURI":"/apis/batch/v1/namespaces/ns/jobs/a","user":{"username":"us"},"objectRef":{"resource":"jobs","namespace":"ns","name":"a","apiGroup":"batch"},"responseStatus":{"code":409}}
{"verb":"patch","requestURI":"/apis/batch/v1/namespaces/ns/jobs/b?fieldManager=x","user":{"username":"us"},"objectRef":{"resource":"jobs","namespace":"ns","name":"b","apiGroup":"batch"},"responseStatus":{"code":200}}
{"verb":"update","requestURI":"/x","user":{"username":"us"},"objectRef":{"resource":"queues","subresource":"status","name":"q","apiGroup":"holdshort.dev"},"responseStatus":{"code":200}}
{"verb":"create","requestURI":"/x?dryRun=All","user":{"username":"us"},"objectRef":{"resource":"pods","namespace":"ns"},"responseStatus":{"code":201}}
{"verb":"create","requestURI":"/x","user":{"username":"us"},"objectRef":{"resource":"subjectaccessreviews","apiGroup":"authorization.k8s.io"},"responseStatus":{"code":201}}
{"verb":"create","requestURI":"/x","user":{"username":"us"},"objectRef":{"resource":"serviceaccounts","subresource":"token","namespace":"ns"},"responseStatus":{"code":201}}
{"verb":"create","requestURI":"/x","user":{"username":"another"},"objectRef":{"resource":"jobs","namespace":"ns"},"responseStatus":{"code":201}}
{"verb":"create","requestURI":"/x","user":{"userna`

func TestWritesOfAUserAreThoseThatStore(t *testing.T) {
	writes, err := readWrites(strings.NewReader(auditLog), "us")
	if err != nil {
		t.Fatal(err)
	}
	want := []Count{
		{Verb: "patch", Resource: "jobs", N: 2},
		{Verb: "patch", Resource: "jobs", Failed: true, N: 1},
		{Verb: "update", Resource: "queues/status", N: 1},
	}
	if diff := cmp.Diff(want, CountWrites(writes)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	everybody, err := readWrites(strings.NewReader(auditLog), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(everybody) != len(writes)+1 {
		t.Errorf("without a user there are %d writes; want the other user's one more than %d", len(everybody), len(writes))
	}
}

func TestABrokenAuditLogIsAnError(t *testing.T) {
	if _, err := readWrites(strings.NewReader("nonsense\n"), ""); err == nil {
		t.Error("a line that is no JSON was taken for nothing; that would count too little")
	}
}
