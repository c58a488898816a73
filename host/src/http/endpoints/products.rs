//! `GET /products-by-name`: the workspace's products whose names are similar to a term, the
//! most similar first, in pages. A product is also found by its external id.
//!
//! `search/` determines the similarity, in memory. Names and descriptions are read from the
//! store for the page that is shown. A product that was removed meanwhile is left out of the
//! page, and the counts may be a second old.

use std::collections::HashMap;
use std::time::Duration;

use hyper::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::id::ProductId;
use crate::http::auth::PartnerCaller;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::reply::{self, ApiResponse};
use crate::limits;
use crate::pipeline::catalogue::{self, SearchError};
use crate::search::{SearchResults, Term, TermError};
use crate::store::Product;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductsPage<'a> {
    term: &'a str,
    products: Vec<ProductFound>,
    pagination: Pagination,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ProductFound {
    id: ProductId,
    /// The id that `propertyExternalId` and `productExternalId` take.
    external_id: String,
    name: String,
    description: String,
    similarity_score: f64,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    page: u64,
    size: u64,
    total_items: u64,
    total_pages: u64,
    has_next_page: bool,
    has_previous_page: bool,
}

/// Returns a page of the products with similar names.
///
/// # Errors
///
/// [`ApiError::BadRequest`] for an invalid parameter, [`ApiError::Overloaded`] if the products
/// cannot be searched now, and [`ApiError::Store`] if the store cannot be read.
pub async fn search(call: &Call<'_>, caller: &PartnerCaller) -> Result<ApiResponse, ApiError> {
    let query = call.query();
    let asked = asked(&query);
    let term = term(asked)?;
    let page = page(&query)?;
    let size = size(&query)?;
    let text = term.text().to_owned();
    let from = (page - 1).saturating_mul(size as u64);
    let workspace = caller.scope().workspace();
    let named = match external_ids(asked) {
        ids if ids.is_empty() => None,
        ids => {
            let store = &call.http.core.store;
            store.product_by_external_id(caller.scope(), ids).await?
        }
    };
    let pipeline = &call.http.pipeline;
    let found = catalogue::search(pipeline, workspace, term, named, (from, size)).await?;
    let ids: Vec<_> = found.page.iter().map(|hit| hit.id).collect();
    let products = if ids.is_empty() {
        Vec::new()
    } else {
        call.http.core.store.products(caller.scope(), &ids).await?
    };
    let body = ProductsPage {
        term: &text,
        products: rows(&found, products),
        pagination: pagination(page, size as u64, found.total),
    };
    reply::json(StatusCode::OK, &body)
}

impl From<SearchError> for ApiError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Store(error) => Self::Store(error),
            SearchError::TooLarge => Self::Overloaded {
                what: "The workspace has more products than the service has memory to search; its operator can give it more memory.",
                retry_after: Duration::from_mins(1),
            },
            SearchError::Late => Self::Overloaded {
                what: "The products are being prepared for searching; try again.",
                retry_after: Duration::from_secs(5),
            },
            SearchError::Ended(error) => Self::internal(error),
        }
    }
}

fn asked<'a>(query: &'a Query<'_>) -> &'a str {
    query.filled(&["name", "term"]).unwrap_or_default().trim()
}

/// Returns the external ids that a term may be, in the order in which they are tried. Empty for
/// several words without a digit, which are a name.
fn external_ids(asked: &str) -> Vec<String> {
    let is_name = asked.contains(char::is_whitespace) && !asked.contains(char::is_numeric);
    if is_name || asked.contains('\0') {
        return Vec::new();
    }
    let mut ids = vec![asked.to_owned(), asked.to_uppercase(), asked.to_lowercase()];
    ids.dedup();
    ids
}

fn term(text: &str) -> Result<Term, ApiError> {
    Term::read(text).map_err(|error| {
        ApiError::BadRequest(match error {
            TermError::Empty => "`name` must contain a letter or a digit.".to_owned(),
            TermError::TooLong => format!(
                "`name` is longer than the {} characters that are searched for.",
                limits::SEARCH_TERM_CHARACTERS
            ),
        })
    })
}

/// A greater page number counts as this one. It fits the integers of every client.
const LAST_PAGE: u64 = i64::MAX as u64;

fn page(query: &Query<'_>) -> Result<u64, ApiError> {
    let Some(text) = query.get("page") else {
        return Ok(1);
    };
    // A number with too many digits is past the last page, too.
    let page = is_number(text).then(|| text.parse().unwrap_or(LAST_PAGE).min(LAST_PAGE));
    page.filter(|page| *page >= 1).ok_or_else(|| {
        ApiError::BadRequest("`page` must be a whole number of at least 1.".to_owned())
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads the page size. A greater size counts as the greatest one.
fn size(query: &Query<'_>) -> Result<usize, ApiError> {
    let Some(text) = query.get("size") else {
        return Ok(limits::SEARCH_PAGE_DEFAULT);
    };
    let size = if is_number(text) {
        // A number with too many digits is greater than the greatest page, too.
        text.parse().unwrap_or(usize::MAX)
    } else {
        0
    };
    if size == 0 {
        return Err(ApiError::BadRequest(
            "`size` must be a whole number of at least 1.".to_owned(),
        ));
    }
    Ok(size.min(limits::SEARCH_PAGE_MAX))
}

fn rows(found: &SearchResults, products: Vec<Product>) -> Vec<ProductFound> {
    let known = products.into_iter().map(|product| (product.id, product));
    let mut known: HashMap<_, _> = known.collect();
    let rows = found.page.iter().filter_map(|hit| {
        let product = known.remove(&hit.id)?;
        Some(ProductFound {
            id: product.id,
            external_id: product.external_id,
            name: product.name,
            description: product.description.unwrap_or_default(),
            similarity_score: f64::from(hit.score) / 10_000.0,
        })
    });
    rows.collect()
}

fn pagination(page: u64, size: u64, total_items: u64) -> Pagination {
    let total_pages = total_items.div_ceil(size);
    Pagination {
        page,
        size,
        total_items,
        total_pages,
        has_next_page: page < total_pages,
        has_previous_page: page > 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_sizes_are_whole_numbers_from_one_on() {
        let check = |text: &str, expect_page: Option<u64>, expect_size: Option<usize>| {
            let query = format!("page={text}&size={text}");
            let query = Query::parse(&query);
            assert_eq!(page(&query).ok(), expect_page, "page {text}");
            assert_eq!(size(&query).ok(), expect_size, "size {text}");
        };
        check("1", Some(1), Some(1));
        check("100", Some(100), Some(100));
        check("1000000000000", Some(1_000_000_000_000), Some(100));
        check("99999999999999999999999", Some(LAST_PAGE), Some(100));
        for wrong in ["0", "-1", "x", "", "1.5", "%201", "%2B1"] {
            check(wrong, None, None);
        }
        let nothing = Query::parse("");
        assert_eq!(page(&nothing).ok(), Some(1));
        assert_eq!(size(&nothing).ok(), Some(10));
    }

    #[test]
    fn a_code_may_be_an_external_id_in_another_case_and_a_name_is_none() {
        assert_eq!(external_ids("Ap-0042"), ["Ap-0042", "AP-0042", "ap-0042"]);
        assert_eq!(external_ids("AP 42"), ["AP 42", "ap 42"]);
        assert_eq!(external_ids("42"), ["42"]);
        assert_eq!(external_ids("casa na praia"), [""; 0]);
        assert_eq!(external_ids("a\0"), [""; 0]);
    }

    #[test]
    fn pagination_fits_the_page_number() {
        let check = |page, total, pages, next, previous| {
            let expect = Pagination {
                page,
                size: 10,
                total_items: total,
                total_pages: pages,
                has_next_page: next,
                has_previous_page: previous,
            };
            assert_eq!(pagination(page, 10, total), expect);
        };
        check(1, 0, 0, false, false);
        check(1, 10, 1, false, false);
        check(1, 11, 2, true, false);
        check(2, 11, 2, false, true);
        check(1_000_000_000_000, 11, 2, false, true);
    }
}
