//! `/products-by-name`.

use serde_json::json;

use super::operation::{Operation, Parameter};
use super::schemas::Schemas;
use crate::endpoints::products::ProductsPage;
use crate::error::Family;
use crate::route::Access;
use crate::terms::filled;
use leadhost_domain::limits;

/// Returns the operations of `/products-by-name`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![search(schemas)]
}

fn search(schemas: &mut Schemas) -> Operation {
    let page = schemas.answer::<ProductsPage<'_>>();
    let number = |default: usize| json!({"type": "integer", "format": "int64", "minimum": 1, "default": default});
    let most = limits::SEARCH_PAGE_MAX;
    let example = json!({
        "term": "mirante",
        "products": [{
            "id": "019cae2b-3f67-7d43-9b21-7e5f4a3b2c05",
            "externalId": "AP-0107",
            "name": "Apartamento Mirante da Serra",
            "description": "Dois quartos, de frente para a serra.",
            "similarityScore": 0.95,
        }],
        "pagination": {
            "page": 1,
            "size": 10,
            "totalItems": 1,
            "totalPages": 1,
            "hasNextPage": false,
            "hasPreviousPage": false,
        },
    });
    Operation::new(
        "get",
        "/products-by-name",
        Family::Gateway,
        Access::PartnerKey,
    )
    .named("searchProducts", "products", "Searches products by name")
    .describe("The search tolerates typos and differences in accents, case and word order. The most similar products come first.")
    .parameter(
        Parameter::query(
            "name",
            filled(limits::SEARCH_TERM_CHARACTERS, ""),
            "The search term, with at least a letter or a digit. `term` is an alias.",
        )
        .required()
        .example("mirante"),
    )
    .parameter(Parameter::query("page", number(1), "The page, counted from 1."))
    .parameter(Parameter::query(
        "size",
        number(limits::SEARCH_PAGE_DEFAULT),
        &format!("Products per page. A size above {most} counts as {most}."),
    ))
    .answers(
        200,
        "A page of products.",
        &page,
        &[("one", "A product", example)],
    )
    .refuses(&[400])
}
