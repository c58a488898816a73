//! An operator's change on one host takes effect on the others.

use leadhost_domain::key::KeyKind;
use leadhost_tests::eventually;

use super::fleet;

#[tokio::test]
async fn a_key_that_is_revoked_on_one_host_is_refused_by_the_others_at_once() {
    let [one, two] = available!(fleet(["one", "two"]));
    let workspace = one.workspace("demo").await.workspace;
    let (key, id) = one.key(KeyKind::Workspace, Some(workspace), None).await;
    let ask = || two.get("/v1/whoami").bearer(&key);
    ask().send().await.expect(200);
    let admin = one.admin_key().await;
    let revoked = one.admin("DELETE", &format!("/admin/v1/keys/{id}"));
    revoked.bearer(&admin).send().await.expect(200);
    // The clock stands, so that no cached key expires by its age.
    eventually("the key is dead", async || ask().send().await.status == 401).await;
}

#[tokio::test]
async fn a_revocation_that_is_not_announced_counts_within_a_second() {
    let [one, two] = available!(fleet(["one", "two"]));
    let workspace = one.workspace("demo").await.workspace;
    let (key, id) = one.key(KeyKind::Workspace, Some(workspace), None).await;
    let ask = || two.get("/v1/whoami").bearer(&key);
    ask().send().await.expect(200);
    assert!(one.store().revoke_key(id, one.now()).await.unwrap());
    one.advance(1).await;
    ask().send().await.expect(401);
}
